#pragma once
// Clients that spoke when nobody could serve them: each is told 503 and when to come again, and then let go gently.
// So is whoever got his last answer from the master itself. FIN, then what it still sends is read and forgotten until
// it hangs up: were that left unread, our close would be a reset, and could overtake the answer. Owned by
// ConnectionKeeper, on the loop's thread.
//
// Only for connections that no worker holds: the FIN is for all who share a socket.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/fd_watch.h"
#include "base/unique_fd.h"
namespace moult {
class Refusals {
 public:
  static constexpr std::size_t most = 256;  // that are let go gently at a time; others are closed at once
  static constexpr Duration linger = std::chrono::seconds(2);
  static constexpr std::size_t most_discarded_bytes = 1024 * 1024;  // of one client
  // Whole seconds, rounded up; a second at the least, also where nobody knows when somebody will serve (zero).
  static std::string answer(Duration come_again_in = {});

  explicit Refusals(uv_loop_t*, std::size_t at_most = most);
  Refusals(const Refusals&) = delete;
  Refusals& operator=(const Refusals&) = delete;

  void refuse(UniqueFd connection, Duration come_again_in = {});
  void let_go(UniqueFd connection);  // it has its answer
  std::size_t size() const { return closing_.size(); }
  // Called once, when the last one is gone; from inside, if there is none.
  void when_empty(std::function<void()> call);

 private:
  struct Closing {
    UniqueFd fd;
    std::unique_ptr<FdWatch> watch;  // gone before the fd
    MonotonicTime until;
    std::size_t discarded_bytes = 0;
  };
  using Number = std::uint64_t;  // in the order in which they end
  void discard(Number);
  void forget(Number);
  void end_overdue();
  void settle();

  uv_loop_t* loop_;
  const std::size_t at_most_;
  Number last_ = 0;
  std::map<Number, Closing> closing_;
  std::function<void()> when_empty_;
  UvHandle<uv_timer_t> timer_;
};
}  // namespace moult
