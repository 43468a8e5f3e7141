#pragma once
// Connections that close in the master (DESIGN §7.6): what becomes of each until its descriptor can go. Pure; run by
// ClosingConnections, which has the descriptors and has sent the FIN.
//
//   (begins)  -> watched     there is room, or a parting one makes some
//   (begins)  -> (let go)    there is none: aborted at once if that is allowed, else undelivered, for the kernel
//   watched   -> parting     delivered, but its client has not hung up: our close would be a reset to what it sends
//   watched   -> (let go)    delivered, and its client has hung up; or reset; or stalled, where aborts are allowed
//   parting   -> (let go)    its client hung up, or `last_words` are over, or its place is needed
//
// Aborts are for a sleep and a stop; a recycle never allows them. So each that begins is counted once when its fate is
// known, at the latest when the watch ends.
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/step.h"
#include "master/connections/linger.h"
namespace moult {
using ClosingId = Id<struct ClosingTag>;

struct ClosingPolicy {
  LingerPolicy linger;
  std::size_t most = most_lingers;
  // For a client that has all and still sends: as long as Refusals gives it.
  Duration last_words = std::chrono::seconds(2);
  // Of what one client says; then it is not listened to any more, and its kernel holds it back. A choice: more than a
  // body that a server lets in by default, and read within a second.
  std::size_t most_discarded_bytes = 64 * 1024 * 1024;
};

struct Closing {
  Linger linger;
  bool hung_up = false;                // its client said its last, or is not listened to
  std::optional<MonotonicTime> until;  // parting
};
struct Closings {
  std::map<ClosingId, Closing> connections;
  bool may_abort = false;
  LingerCounts counts;
};

struct ClosingBegins {
  ClosingId id;
};
struct QueueSeen {  // the answer to LookAtQueue
  ClosingId id;
  SendQueueLook look;
};
struct ClosingClientEnded {
  ClosingId id;
};
struct AbortsAllowed {
  bool allowed;
};
struct WatchEnds {};
using ClosingEvent = std::variant<ClosingBegins, QueueSeen, ClosingClientEnded, AbortsAllowed, WatchEnds, TimePassed>;

struct Listen {  // read and forget what its client says
  ClosingId id;
};
struct LookAtQueue {
  ClosingId id;
};
struct AbortClosing {  // and it is gone
  ClosingId id;
};
struct LetClosingGo {
  ClosingId id;
};
using ClosingAction = std::variant<Listen, LookAtQueue, AbortClosing, LetClosingGo>;

Step<Closings, ClosingAction> transition(Closings, const ClosingEvent&, const ClosingPolicy&, MonotonicTime now);
MonotonicTime next_deadline(const Closings&, MonotonicTime now);

std::size_t undelivered(const Closings&);  // those whose fate is not known
std::size_t stalled(const Closings&);
}  // namespace moult
