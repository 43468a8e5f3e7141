#include "master/launch/channel_port.h"

#include <chrono>
#include <utility>
namespace moult {
namespace {
constexpr int most_in_one_turn = 64;    // one that talks all the time does not keep the loop from the others
constexpr int most_in_one_look = 4096;  // more than any socket's queue holds
constexpr std::chrono::milliseconds try_later_pause{50};
}  // namespace

Result<std::unique_ptr<ChannelPort>> ChannelPort::open(uv_loop_t* loop, Channel channel, Events events) {
  std::unique_ptr<ChannelPort> port(new ChannelPort(loop, std::move(channel), std::move(events)));
  auto watch = FdWatch::open(loop, port->channel_.fd(), [self = port.get()](int ready) {
    if (ready & UV_WRITABLE) self->send_waiting();
    if (ready & UV_READABLE) self->read(most_in_one_turn);
  });
  if (!watch) return watch.error();
  port->watch_ = std::move(*watch);
  return port;
}

ChannelPort::ChannelPort(uv_loop_t* loop, Channel channel, Events events)
    : channel_(std::move(channel)), events_(std::move(events)), retry_(make_timer(loop, this)) {}

Result<Sent> ChannelPort::send_now(const Waiting& waiting) {
  std::vector<int> numbers;
  for (const UniqueFd& fd : waiting.fds) numbers.push_back(fd.get());
  if (waiting.lent >= 0) numbers.push_back(waiting.lent);
  return channel_.send(waiting.message, numbers);
}

Result<void> ChannelPort::send(Message message, std::vector<UniqueFd> fds, std::uint64_t tag) {
  return send_or_keep({std::move(message), std::move(fds), tag});
}

Result<void> ChannelPort::lend(Message message, int fd, std::uint64_t tag) {
  return send_or_keep({std::move(message), {}, tag, fd});
}

Result<void> ChannelPort::send_or_keep(Waiting next) {
  if (ended_) return {};
  if (waiting_.size() >= most_waiting) return errno_error("too many messages wait on a channel", EAGAIN);
  if (waiting_.empty()) {
    const Result<Sent> sent = send_now(next);
    if (!sent) return sent.error();
    if (*sent == Sent::sent || *sent == Sent::peer_gone) return {};
  }
  waiting_.push_back(std::move(next));
  if (waiting_.size() == 1) send_waiting();
  return {};
}

void ChannelPort::withdraw(std::uint64_t tag) {
  std::erase_if(waiting_, [tag](const Waiting& each) { return each.tag == tag; });
}

void ChannelPort::send_waiting() {
  while (!ended_ && !waiting_.empty()) {
    const Result<Sent> sent = send_now(waiting_.front());
    if (sent && *sent == Sent::would_block) return watch_->want(UV_READABLE | UV_WRITABLE);
    if (sent && *sent == Sent::try_later) {
      watch_->want(UV_READABLE);
      uv_timer_start(
          retry_.get(), [](uv_timer_t* timer) { static_cast<ChannelPort*>(timer->data)->send_waiting(); },
          try_later_pause.count(), 0);
      return;
    }
    waiting_.pop_front();  // sent; or there is nobody; or it can never be sent, and send() said so to nobody's surprise
  }
  if (!ended_) watch_->want(UV_READABLE);
}

void ChannelPort::read_all() { read(most_in_one_look); }

void ChannelPort::read(int most) {
  for (int count = 0; count < most && !ended_; ++count) {
    Receipt receipt = channel_.receive();
    if (std::holds_alternative<NothingNow>(receipt)) return;
    if (auto* received = std::get_if<Received>(&receipt)) {
      events_.received(std::move(*received));
      continue;
    }
    ended_ = true;  // the end, or an error of the socket: nothing more will come
    waiting_.clear();
    watch_.reset();
    events_.ended();
    return;
  }
}
}  // namespace moult
