#pragma once
// A channel on the loop: reads what comes, and sends without ever blocking: what does not go at once waits in a bounded
// queue until the other side has read. Owned by ForkServer (its channel) and ChannelLink (a worker's).
// Must not be destroyed from inside its own callbacks.
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/fd_watch.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "base/uv_handle.h"
#include "worker/channel.h"
namespace moult {
class ChannelPort {
 public:
  struct Events {
    std::function<void(Received)> received;
    std::function<void()> ended;  // once: the other side is gone and what it sent was read
  };
  // How many messages may wait: as many as the largest number of workers that may be launched at once.
  static constexpr std::size_t most_waiting = 1024;

  static Result<std::unique_ptr<ChannelPort>> open(uv_loop_t*, Channel, Events);
  ChannelPort(const ChannelPort&) = delete;
  ChannelPort& operator=(const ChannelPort&) = delete;

  // An error when it cannot be sent at all: the queue is full, or the message is no message. A peer that is gone is
  // none: that is `ended`. The fds are closed when they were sent. `tag` is for withdraw().
  Result<void> send(Message, std::vector<UniqueFd> fds = {}, std::uint64_t tag = 0);
  // The same with a descriptor that stays the caller's, who keeps it open until the other side said that it has it.
  Result<void> lend(Message, int fd, std::uint64_t tag = 0);
  void withdraw(std::uint64_t tag);  // what still waits under it is not sent, and its fds are closed
  bool ended() const { return ended_; }
  void read_all();  // now, until nothing waits

 private:
  struct Waiting {
    Message message;
    std::vector<UniqueFd> fds;
    std::uint64_t tag;
    int lent = -1;
  };
  Result<void> send_or_keep(Waiting);
  ChannelPort(uv_loop_t*, Channel, Events);
  Result<Sent> send_now(const Waiting&);
  void send_waiting();
  void read(int most);

  Channel channel_;
  Events events_;
  std::deque<Waiting> waiting_;
  bool ended_ = false;
  UvHandle<uv_timer_t> retry_;
  std::unique_ptr<FdWatch> watch_;
};
}  // namespace moult
