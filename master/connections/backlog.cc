#include "master/connections/backlog.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>
namespace moult {
Backlog::Backlog(uv_loop_t* loop, ConnectionKeeper& keeper) : keeper_(keeper), timer_(make_timer(loop, this)) {}

void Backlog::hand_over(std::vector<int> doors, std::function<void()> done) {
  doors_ = std::move(doors);
  done_ = std::move(done);
  if (keeper_.serves()) keeper_.one_is_left();
  go_on();
}

void Backlog::go_on() {
  if (!done_) return;
  const bool found = keeper_.serves() && accept_waiting() > 0;
  if (!found && keeper_.is_quiet()) return std::exchange(done_, nullptr)();
  keeper_.when_quiet([this] {
    uv_timer_start(
        timer_.get(), [](uv_timer_t* timer) { static_cast<Backlog*>(timer->data)->go_on(); }, 0, 0);
  });
}

// The workers that serve accept as well: what they have is not here any more.
std::size_t Backlog::accept_waiting() {
  const std::size_t before = accepted_;
  for (const int door : doors_)
    while (accepted_ < most && keeper_.takes_accepted()) {
      UniqueFd client(::accept4(door, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!client && (errno == EINTR || errno == ECONNABORTED)) continue;
      if (!client) break;
      ++accepted_;
      keeper_.accepted(std::move(client));
    }
  return accepted_ - before;
}
}  // namespace moult
