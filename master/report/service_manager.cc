#include "master/report/service_manager.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
namespace moult {
namespace {
template <class Number>
std::optional<Number> number(const char* text) {
  if (!text) return std::nullopt;
  Number value{};
  const char* end = text + std::strlen(text);
  const auto [stopped_at, error] = std::from_chars(text, end, value);
  if (error != std::errc{} || stopped_at != end) return std::nullopt;
  return value;
}

std::string monotonic_usec() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

std::string one_line(std::string text) {
  for (char& each : text)
    if (each == '\n') each = ' ';
  return text;
}
}  // namespace

ServiceManagerSettings parse_service_manager_settings(const char* notify_socket, const char* watchdog_usec,
                                                      const char* watchdog_pid, pid_t pid) {
  ServiceManagerSettings settings{notify_socket ? notify_socket : "", std::nullopt};
  const auto usec = number<std::int64_t>(watchdog_usec);
  constexpr std::int64_t usec_most = std::int64_t{1} << 52;  // 142 years: what fits in nanoseconds
  const bool for_us = !watchdog_pid || number<pid_t>(watchdog_pid) == pid;
  if (usec && *usec > 0 && *usec <= usec_most && for_us) settings.watchdog = std::chrono::microseconds(*usec);
  return settings;
}

ServiceManagerSettings take_service_manager_settings() {
  ServiceManagerSettings settings = parse_service_manager_settings(
      std::getenv("NOTIFY_SOCKET"), std::getenv("WATCHDOG_USEC"), std::getenv("WATCHDOG_PID"), getpid());
  for (const char* each : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) unsetenv(each);
  return settings;
}

Result<std::unique_ptr<ServiceManager>> ServiceManager::create(uv_loop_t* loop,
                                                               const ServiceManagerSettings& settings) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  const std::string& name = settings.notify_socket;
  if (name.empty()) return std::unique_ptr<ServiceManager>(new ServiceManager(loop, UniqueFd(), to, 0, std::nullopt));
  if ((name[0] != '/' && name[0] != '@') || name.size() >= sizeof to.sun_path)
    return Error{"NOTIFY_SOCKET=" + name + " is neither a path nor an abstract name (@...) of a unix socket"};
  std::memcpy(to.sun_path, name.data(), name.size());
  if (name[0] == '@') to.sun_path[0] = '\0';
  UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return errno_error("cannot make a socket for NOTIFY_SOCKET", errno);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  return std::unique_ptr<ServiceManager>(new ServiceManager(loop, std::move(fd), to, size, settings.watchdog));
}

ServiceManager::ServiceManager(uv_loop_t* loop, UniqueFd fd, const sockaddr_un& to, socklen_t to_size,
                               std::optional<Duration> watchdog)
    : fd_(std::move(fd)),
      to_(to),
      to_size_(to_size),
      again_(make_timer(loop, this)),
      watchdog_(make_timer(loop, this)) {
  uv_unref(reinterpret_cast<uv_handle_t*>(again_.get()));
  uv_unref(reinterpret_cast<uv_handle_t*>(watchdog_.get()));
  if (!fd_ || !watchdog) return;
  // Half of it, as sd_watchdog_enabled(3) advises. A timer fires only while the loop turns: that is the promise.
  const auto half_ms = std::chrono::duration_cast<std::chrono::milliseconds>(*watchdog / 2).count();
  const auto period_ms = static_cast<std::uint64_t>(half_ms > 0 ? half_ms : 1);
  uv_timer_start(
      watchdog_.get(), [](uv_timer_t* t) { static_cast<ServiceManager*>(t->data)->send("WATCHDOG=1"); }, 0, period_ms);
}

void ServiceManager::send(std::string message) {
  if (!fd_) return;
  if (waiting_.size() >= waiting_messages_most) waiting_.pop_front();
  waiting_.push_back(std::move(message));
  send_waiting();
}

// In order. A manager that does not read for a moment hears it later; one that is gone hears nothing, and we go on.
void ServiceManager::send_waiting() {
  while (!waiting_.empty()) {
    const std::string& message = waiting_.front();
    const ssize_t sent = ::sendto(fd_.get(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                                  reinterpret_cast<const sockaddr*>(&to_), to_size_);
    if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == EINTR)) {
      uv_timer_start(
          again_.get(), [](uv_timer_t* t) { static_cast<ServiceManager*>(t->data)->send_waiting(); },
          static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(send_again_after).count()),
          0);
      return;
    }
    waiting_.pop_front();
  }
  uv_timer_stop(again_.get());
}

void ServiceManager::say_ready(const std::string& status_line) {
  said_ = Said::ready;
  send("READY=1\nMAINPID=" + std::to_string(getpid()) + "\nSTATUS=" + one_line(status_line));
}

void ServiceManager::status(const std::string& line) { send("STATUS=" + one_line(line)); }

void ServiceManager::stopping() {
  if (std::exchange(said_, Said::stopping) != Said::stopping) send("STOPPING=1\nSTATUS=stopping");
}

void ServiceManager::stop_takes(Duration at_most) {
  const auto usec = std::chrono::ceil<std::chrono::microseconds>(at_most + rest_of_a_stop).count();
  send("EXTEND_TIMEOUT_USEC=" + std::to_string(usec) + "\nSTATUS=waiting until all answers have arrived");
}

void ServiceManager::worker_serving(const Worker&, pid_t) {
  serves_ = true;
  if (said_ == Said::starting) say_ready("serving");
}

// Asleep nobody will serve to prove it: a master is ready, and a reload is over, when the code is loaded.
void ServiceManager::pool_settled(const Pool& pool) {
  serves_ = std::ranges::any_of(pool.workers, [](const Worker& w) { return w.state == WorkerState::serving; });
  const bool waits = said_ == Said::starting || said_ == Said::reloading;
  if (waits && pool.goal.mode == Mode::sleep && pool.goal.candidate && pool.goal.candidate >= loading_)
    say_ready("asleep: the next caller wakes the app");
}

void ServiceManager::load_started(Generation generation) {
  loading_ = generation;
  if (said_ != Said::ready) return;
  said_ = Said::reloading;
  send("RELOADING=1\nMONOTONIC_USEC=" + monotonic_usec() + "\nSTATUS=loading newer code");
}

void ServiceManager::generation_proven(Generation) {
  if (said_ == Said::reloading) say_ready("serving");
}

void ServiceManager::generation_rejected(Generation, const std::string& cause) {
  if (said_ == Said::reloading)
    say_ready((serves_ ? "serving the former code; the newer one failed: " : "nobody serves; the newer code failed: ") +
              cause.substr(0, cause.find('\n')));
}
}  // namespace moult
