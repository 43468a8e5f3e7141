#pragma once
// Which loads of the app's code exist, and when the next one is begun. Pure. The pool says which worker comes from
// which generation; this core says when code is read from disk.
//
//   resting -> loading   Reload (the first one is the start), or a generation was lost and no other can be forked from
//   loading -> loading   Reload: the newest wish wins, the load in hand is dropped
//   loading -> resting   loaded; or it failed while another generation can still be forked from
//   loading -> waiting   it failed and nothing else can be forked from: back off, then load again
//   waiting -> loading   the back-off is over, or Reload
//   any     -> ceased    it failed, or fork servers kept dying, and nothing ever served
//   any     -> ceased    Cease: all is dropped, nothing is loaded any more
//
// Lost is the death of a loaded fork server. It is loaded anew as a new generation, because what is on disk may have
// changed: at once the first time, then after a back-off that is forgotten when a fork server has lived for
// stable_after. A lost candidate beside a proven generation that lives is a reload that failed: it is not tried again.
#include <variant>
#include <vector>

#include "base/backoff.h"
#include "base/ids.h"
#include "base/step.h"
namespace moult {
enum class LoadState { resting, loading, waiting, ceased };
enum class BeforeReload { keep_the_old, drop_the_old };  // --reload-low-memory drops it: there is no room for both
struct Generations {
  LoadState state = LoadState::resting;
  Generation newest;               // the last one that was asked for
  Generation proven;               // the newest that ever served
  std::vector<Generation> loaded;  // can be forked from
  MonotonicTime loaded_at{};       // of the newest
  Backoff recovery;                // of loads that nobody asked for
  Random random;
};
struct GenerationsPolicy {
  BackoffPolicy backoff;
  Duration stable_after;
  unsigned first_attempts;  // of fork servers that die before any worker served: then give up
  BeforeReload before_reload;
};

struct Reload {};
struct Loaded {
  Generation generation;
};
struct LoadFailed {
  Generation generation;
};
struct Lost {
  Generation generation;
};
struct Proven {
  Generation generation;
};
struct Rejected {
  Generation generation;
};
struct Cease {};
using GenerationsEvent = std::variant<Reload, Loaded, LoadFailed, Lost, Proven, Rejected, Cease, TimePassed>;

struct Load {
  Generation generation;
};
struct Drop {
  Generation generation;
};
struct AnnounceLoaded {
  Generation generation;
};  // -> the pool's GenerationLoaded
struct AnnounceLost {
  Generation generation;
};  // -> the pool's GenerationLost
struct ReloadFailed {
  Generation generation;
};  // older code serves on
struct NothingLoads {
  Generation generation;
};  // and nothing ever served: exit 4
using GenerationsAction = std::variant<Load, Drop, AnnounceLoaded, AnnounceLost, ReloadFailed, NothingLoads>;

Step<Generations, GenerationsAction> transition(Generations, const GenerationsEvent&, const GenerationsPolicy&,
                                                MonotonicTime now);
MonotonicTime next_deadline(const Generations&, MonotonicTime now);
}  // namespace moult
