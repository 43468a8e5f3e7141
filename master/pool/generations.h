#pragma once
// Which loads of the app's code exist, and when the next one is begun. Pure. The pool says which worker comes from
// which generation; this core says when code is read from disk.
//
//   resting -> loading   Reload (the first one is the start), or a generation was lost and no other can be forked from
//   loading -> loading   Reload: the newest wish wins, the load in hand is dropped
//   loading -> resting   loaded; or it failed while another generation can still be forked from
//   loading -> waiting   it failed and nothing else can be forked from: back off, then load again
//   waiting -> loading   the back-off is over, Reload, or Needed
//   loading -> cold      it failed, nothing else can be forked from, and the app sleeps
//   waiting -> cold      the app falls asleep
//   any     -> cold      DropAll: all is dropped, and nothing is loaded until somebody wishes. Only once something
//                        served
//   cold    -> loading   Needed (a wake), or Reload
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
enum class LoadState { resting, loading, waiting, cold, ceased };
enum class BeforeReload { keep_the_old, drop_the_old };  // --reload-low-memory drops it: there is no room for both
struct Generations {
  LoadState state = LoadState::resting;
  Generation newest;               // the last one that was asked for
  Generation proven;               // the newest that ever served
  std::vector<Generation> loaded;  // can be forked from
  MonotonicTime loaded_at{};       // of the newest
  bool needed = true;              // not while the app sleeps: then nobody waits for a load that failed
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
struct NotNeeded {};  // the app sleeps
struct DropAll {};    // and nothing of it is to stay
struct Needed {};     // somebody is to serve
struct Cease {};
using GenerationsEvent =
    std::variant<Reload, Loaded, LoadFailed, Lost, Proven, Rejected, NotNeeded, DropAll, Needed, Cease, TimePassed>;

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
