#include "worker/outbox.h"
namespace moult {
std::uint64_t Outbox::put(Message message, ConnectionId connection) {
  if (peer_gone_ || waiting_.size() >= max_waiting_messages) return 0;
  waiting_.push_back({std::move(message), connection});
  return ++last_put_;
}

void Outbox::flush() {
  blocked_ = false;
  while (!waiting_.empty() && !peer_gone_) {
    const Waiting& next = waiting_.front();
    const int fd = next.connection ? custody_.fd(next.connection) : -1;
    if (!next.connection || fd >= 0) {
      const auto outcome = channel_.send(next.message, {&fd, next.connection ? 1u : 0u});
      // An error here is about this one message (it was built wrongly): it is dropped, the next may be well.
      const Sent sent = outcome ? *outcome : Sent::sent;
      peer_gone_ = sent == Sent::peer_gone;
      blocked_ = sent == Sent::would_block;
      if (sent != Sent::sent) return;
    }
    waiting_.pop_front();
  }
}
}  // namespace moult
