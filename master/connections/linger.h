#pragma once
// Whether what was sent on one TCP connection has arrived (DESIGN §7.6). Pure. The looks come from send_queue.h for
// connections that we hold, and from socket_diagnosis.h for those of others; closing.h and tails.h keep one Linger
// each.
//
//   underway  -> delivered   everything that was sent, and the FIN if one was, is acknowledged
//   underway  -> reset       it is over without that: its peer reset it, or the kernel gave up
//   underway <-> stalled     nothing was acknowledged for `patience`; what is acknowledged later makes it underway
//   again
//
// delivered and reset are final. Neither time nor a look that failed leads to them.
#include <cstdint>
#include <variant>

#include "base/clock.h"
namespace moult {
struct LingerPolicy {
  Duration patience = std::chrono::minutes(5);  // --linger-timeout; progress renews it
  // Between two looks: the first wait, doubled each time, and the longest. A short answer is acknowledged within a
  // millisecond in one machine; a second is as late as we want to notice that a long one is.
  Duration look_first = std::chrono::milliseconds(1), look_last = std::chrono::seconds(1);
};

struct SendQueueReading {
  std::uint64_t unacknowledged_bytes = 0;  // sent or about to be; a FIN counts as one
  std::uint64_t acknowledged_bytes = 0;    // since the connection began
  int tcp_state = 0;                       // as <netinet/tcp.h> numbers them
};
struct Vanished {};  // the kernel has no such connection any more; only of those that we do not hold
struct LookFailed {};
using SendQueueLook = std::variant<SendQueueReading, Vanished, LookFailed>;

enum class LingerState { underway, delivered, reset, stalled };
struct Linger {
  LingerState state = LingerState::underway;
  SendQueueReading last;        // of the looks that did not fail
  MonotonicTime progress_at{};  // when something was acknowledged, or the watch began
  MonotonicTime next_look{};    // never: it is final
  Duration wait{};              // after the next look
};

Linger begin_linger(const LingerPolicy&, MonotonicTime now);
Linger advance(Linger, const SendQueueLook&, const LingerPolicy&, MonotonicTime now);
bool is_final(LingerState);

// The pace of looks, for those who look at many at once.
Duration longer(Duration wait, const LingerPolicy&);

// How a linger ended. Each that began ends in exactly one.
struct LingerCounts {
  std::uint64_t begun = 0;
  std::uint64_t delivered = 0, reset = 0;
  std::uint64_t aborted = 0;      // by us: it had stalled, or was one too many
  std::uint64_t fail_closed = 0;  // it had stalled and could not be aborted
  std::uint64_t undelivered = 0;  // not watched to its end: one too many, or the watch was ended
};
inline constexpr std::size_t most_lingers = 256;  // closing connections that are watched at a time (DESIGN §7.6)
}  // namespace moult
