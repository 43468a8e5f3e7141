#include "master/connections/refusal.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/machine.h"
namespace moult {
namespace {
enum class Reading { more, nothing_now, ended };

Reading discard_some(int fd, std::size_t& discarded_bytes) {
  std::array<char, 16 * 1024> bytes;
  const ssize_t count = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR ? Reading::nothing_now : Reading::ended;
  if (count == 0) return Reading::ended;
  discarded_bytes += static_cast<std::size_t>(count);
  return discarded_bytes < Refusals::most_discarded_bytes ? Reading::more : Reading::ended;
}
}  // namespace

std::string Refusals::answer(Duration come_again_in) {
  const auto seconds = std::max(std::chrono::ceil<std::chrono::seconds>(come_again_in), std::chrono::seconds(1));
  return "HTTP/1.1 503 Service Unavailable\r\n"
         "Content-Type: text/plain; charset=utf-8\r\n"
         "Content-Length: 36\r\n"
         "Retry-After: " +
         std::to_string(seconds.count()) +
         "\r\n"
         "Connection: close\r\n"
         "\r\n"
         "No worker is ready. Try again soon.\n";
}

Refusals::Refusals(uv_loop_t* loop, std::size_t at_most)
    : loop_(loop), at_most_(at_most), timer_(make_timer(loop, this)) {}

// An answer that the kernel does not take at once is for a client that does not read: it gets none.
void Refusals::refuse(UniqueFd connection, Duration come_again_in) {
  const std::string text = answer(come_again_in);
  [[maybe_unused]] const ssize_t sent = ::send(connection.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  let_go(std::move(connection));
}

void Refusals::let_go(UniqueFd connection) {
  const int fd = connection.get();
  ::shutdown(fd, SHUT_WR);
  std::size_t discarded_bytes = 0;
  Reading reading = Reading::more;
  while (reading == Reading::more) reading = discard_some(fd, discarded_bytes);
  if (reading == Reading::ended || closing_.size() >= at_most_) return;
  const Number number = last_ + 1;
  auto watch = FdWatch::open(loop_, fd, [this, number](int) { discard(number); });
  if (!watch) return;
  last_ = number;
  closing_[number] = {std::move(connection), std::move(*watch), monotonic_now(loop_) + linger, discarded_bytes};
  settle();
}

void Refusals::when_empty(std::function<void()> call) {
  if (closing_.empty()) return call();
  when_empty_ = std::move(call);
}

// A little at each turn of the loop: one that sends all the time keeps nobody waiting.
void Refusals::discard(Number number) {
  Closing& closing = closing_.at(number);
  if (discard_some(closing.fd.get(), closing.discarded_bytes) == Reading::ended) forget(number);
}

void Refusals::forget(Number number) {
  closing_.erase(number);
  settle();
}

void Refusals::end_overdue() {
  while (!closing_.empty() && closing_.begin()->second.until <= monotonic_now(loop_)) closing_.erase(closing_.begin());
  settle();
}

void Refusals::settle() {
  if (closing_.empty()) {
    uv_timer_stop(timer_.get());
    if (const auto call = std::exchange(when_empty_, nullptr)) call();  // it may destroy us
    return;
  }
  const Duration left = closing_.begin()->second.until - monotonic_now(loop_);
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  uv_timer_start(
      timer_.get(), [](uv_timer_t* timer) { static_cast<Refusals*>(timer->data)->end_overdue(); },
      ms > 0 ? static_cast<std::uint64_t>(ms) : 0, 0);
}
}  // namespace moult
