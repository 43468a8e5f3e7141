#include "master/connections/linger.h"

#include <netinet/tcp.h>

#include <algorithm>

#include "base/step.h"
namespace moult {
namespace {
bool fin_is_underway(int tcp_state) {
  return tcp_state == TCP_FIN_WAIT1 || tcp_state == TCP_CLOSING || tcp_state == TCP_LAST_ACK;
}

LingerState judge(const SendQueueReading& reading) {
  const bool empty = reading.unacknowledged_bytes == 0;
  switch (reading.tcp_state) {
    case TCP_FIN_WAIT2:
    case TCP_TIME_WAIT: return LingerState::delivered;
    case TCP_FIN_WAIT1:
    case TCP_CLOSING:
    case TCP_LAST_ACK: return LingerState::underway;
    // What a reset left unacknowledged stays in the count for ever.
    case TCP_CLOSE: return empty ? LingerState::delivered : LingerState::reset;
    default: return empty ? LingerState::delivered : LingerState::underway;
  }
}

// A connection that ends as it should is seen in TIME_WAIT, for a minute, if we closed first; if its peer did, it
// vanishes with the acknowledgement of our FIN. So one that vanishes with more than a FIN outstanding was cut.
LingerState judge_vanished(const SendQueueReading& last) {
  const bool only_fin_was_left = fin_is_underway(last.tcp_state) && last.unacknowledged_bytes <= 1;
  return only_fin_was_left ? LingerState::delivered : LingerState::reset;
}

bool progressed(const SendQueueReading& last, const SendQueueReading& now) {
  return now.acknowledged_bytes > last.acknowledged_bytes || now.unacknowledged_bytes < last.unacknowledged_bytes;
}
}  // namespace

bool is_final(LingerState state) {
  switch (state) {
    case LingerState::delivered:
    case LingerState::reset: return true;
    case LingerState::underway:
    case LingerState::stalled: break;
  }
  return false;
}

Duration longer(Duration wait, const LingerPolicy& policy) { return std::min(wait * 2, policy.look_last); }

Linger begin_linger(const LingerPolicy& policy, MonotonicTime now) {
  return {.progress_at = now, .next_look = now, .wait = policy.look_first};
}

Linger advance(Linger linger, const SendQueueLook& look, const LingerPolicy& policy, MonotonicTime now) {
  if (is_final(linger.state)) return linger;
  linger.state = std::visit(Match{[&](const SendQueueReading& reading) {
                                    if (progressed(linger.last, reading)) linger.progress_at = now;
                                    linger.last = reading;
                                    return judge(reading);
                                  },
                                  [&](const Vanished&) { return judge_vanished(linger.last); },
                                  [&](const LookFailed&) { return LingerState::underway; }},
                            look);
  if (linger.state == LingerState::underway && now - linger.progress_at >= policy.patience)
    linger.state = LingerState::stalled;
  linger.next_look = is_final(linger.state) ? never : now + linger.wait;
  linger.wait = longer(linger.wait, policy);
  return linger;
}
}  // namespace moult
