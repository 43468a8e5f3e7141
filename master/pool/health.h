#pragma once
// Is a serving worker hung? Pure. A worker that turns its loop is healthy, however busy it is; one that does not (it is
// stuck in C with the interpreter's lock, or its handler blocks the event loop) is shot, so that it prints its stacks
// and makes room. Judged only while it serves: gthread, for one, stops beating while it drains.
#include <optional>
#include <string>

#include "base/clock.h"
namespace moult {
struct HealthPolicy {
  Duration timeout;          // --timeout; zero: never
  Duration request_timeout;  // --request-timeout; zero: never
};
struct VitalSigns {
  std::optional<MonotonicTime> heartbeat;             // none: it never promised one
  std::optional<MonotonicTime> oldest_plain_request;  // in flight, neither upgraded nor streaming
};

// Why it counts as hung, as a sentence for the log; none: healthy.
std::optional<std::string> hung_because(const VitalSigns&, const HealthPolicy&, MonotonicTime now);

// How long the watch may wait between two looks: a quarter of the shortest timeout, within [100 ms, 1 s]. So a hung
// worker is found at most that much later than its timeout. None: there is nothing to watch for.
std::optional<Duration> look_every(const HealthPolicy&);
}  // namespace moult
