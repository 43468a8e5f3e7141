#pragma once
// What is still on its way to clients over connections that others hold, or nobody does any more: live workers, and
// processes that are gone (DESIGN §7.6). Pure; run by TailWatch, which asks the kernel for all of them at a time.
//
// A *tail* is a connection at our doors with unacknowledged bytes. A watch begins before a sleep or a stop, looks until
// there is none, and has one verdict at any time:
//
//   underway     some are left, or no look has succeeded yet
//   delivered    the last look succeeded and found none: what was sent until then has arrived, or its client is gone
//   fail_closed  one has stalled and could not be aborted, or looks failed `most_failed_looks` times in a row: whoever
//                asked must not act as if it were delivered. The watch goes on, and may still see it end
//
// A tail that stalls is aborted, if this watch may; if it may not, the watch goes on, and whoever began it decides how
// long. Beyond `most` they are not watched: each is aborted when it is seen, if that may be, else it is `unwatched`:
// the verdict waits for it all the same, and it is watched as soon as there is room.
#include <map>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "base/step.h"
#include "master/connections/abort_ladder.h"
#include "master/connections/linger.h"
namespace moult {
using TailId = Id<struct TailTag>;  // the kernel's cookie of the socket: never used twice while it runs

struct TailPolicy {
  LingerPolicy linger;
  AbortPolicy abort;
  std::size_t most = most_lingers;
  unsigned most_failed_looks = 10;  // with the pauses between them about a second
};

struct Tail {
  Linger linger;
  AbortLadder ladder;
  bool asked = false;  // to be aborted, and not answered
};
struct TailReading {
  TailId id;
  SendQueueReading reading;
};
enum class TailVerdict { underway, delivered, fail_closed };

struct Tails {
  bool watching = false;
  bool may_abort = false;
  bool surplus_spared = false;  // the kernel refused to abort one too many: it would refuse the others
  // Those with an outcome stay as long as the kernel shows them, so that none is counted or aborted twice.
  std::map<TailId, Tail> tails;
  std::size_t unwatched = 0;  // in the last look, and not aborted since
  bool seen = false;          // the last look succeeded
  unsigned failed_looks = 0;  // in a row
  MonotonicTime next_look = never;
  Duration wait{};
  LingerCounts counts;
  Random random;
};

struct TailWatchBegins {
  bool may_abort;
};
struct TailsSeen {  // all with unacknowledged bytes, and those of `tails` that the kernel still knows
  std::vector<TailReading> readings;
  std::vector<TailId> taken = {};  // of `tails`: another watches them now, and counts them; not among the readings
};
struct TailsUnseen {};  // the look failed
struct TailAbortAnswered {
  TailId id;
  AbortAnswer answer;
};
struct TailWatchEnds {};
using TailEvent = std::variant<TailWatchBegins, TailsSeen, TailsUnseen, TailAbortAnswered, TailWatchEnds, TimePassed>;

struct LookAtTails {};  // answered with TailsSeen or TailsUnseen
struct AbortTail {      // answered with TailAbortAnswered
  TailId id;
};
using TailAction = std::variant<LookAtTails, AbortTail>;

Step<Tails, TailAction> transition(Tails, const TailEvent&, const TailPolicy&, MonotonicTime now);
MonotonicTime next_deadline(const Tails&, MonotonicTime now);

TailVerdict verdict(const Tails&, const TailPolicy&);
std::size_t underway(const Tails&);  // that are watched and have no outcome yet, stalled ones among them
std::size_t stalled(const Tails&);
std::size_t failed_closed(const Tails&);  // and not over since
}  // namespace moult
