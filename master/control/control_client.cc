#include "master/control/control_client.h"
#include "base/control_path.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

namespace moult {
namespace {
using nlohmann::json;

MonotonicTime now() { return std::chrono::steady_clock::now(); }
// Far enough for every limit that a person gives; adding more would overflow.
MonotonicTime end_after(Duration limit) { return now() + std::min<Duration>(limit, std::chrono::hours(24 * 365)); }

std::string seconds_text(Duration duration) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return ms % 1000 ? std::to_string(ms) + " ms" : std::to_string(ms / 1000) + " s";
}

bool wait_for(int fd, short events, MonotonicTime end) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - now()).count();
    if (left <= 0) return false;
    pollfd wanted{fd, events, 0};
    const int ready = ::poll(&wanted, 1, static_cast<int>(std::min<decltype(left)>(left, 60'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// The listener of this path must be our user's or root's: in a folder where everybody writes, anybody can listen.
std::optional<Error> foreign(const std::string& path, const ucred& peer) {
  const uid_t own = ::geteuid();
  if (own == 0 || peer.uid == own || peer.uid == 0) return std::nullopt;
  return Error{"the process that answers at " + path + " belongs to uid " + std::to_string(peer.uid) +
                   ": it is not asked anything",
               EPERM};
}
}  // namespace

Result<ControlClient> ControlClient::connect(const std::string& path, Duration limit) {
  if (const auto checked = checked_control_path(path); !checked) return checked.error();
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return errno_error("cannot make a socket", errno);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const MonotonicTime end = end_after(limit);
  while (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return errno_error(path, errno);
    // Its backlog is full. A unix socket does not wait for room by itself when it is non-blocking, nor does poll.
    if (now() >= end) return errno_error(path, ETIMEDOUT);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
    return errno_error("cannot tell who listens at " + path, errno);
  if (const auto error = foreign(path, peer)) return *error;
  UniqueFd master(peer.pid > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0)) : -1);
  return ControlClient(std::move(fd), std::move(master), path);
}

Result<json> ControlClient::next_frame(MonotonicTime end) {
  char bytes[16384];
  for (;;) {
    if (auto frame = frames_.next()) return std::move(*frame);
    if (!wait_for(socket_.get(), POLLIN, end)) return Error{"", ETIMEDOUT};
    const ssize_t length = ::recv(socket_.get(), bytes, sizeof bytes, 0);
    if (length > 0) frames_.feed({bytes, static_cast<std::size_t>(length)});
    else if (length == 0 || errno == ECONNRESET)
      return Error{"it closed the connection before it answered", ECONNRESET};
    else if (errno != EAGAIN && errno != EINTR) return errno_error("cannot read its answer", errno);
  }
}

ControlAnswer ControlClient::ask(const Command& command, Duration limit) {
  const MonotonicTime end = end_after(limit);
  const std::string frame = frame_of(command_json(command));
  std::size_t sent = 0;
  while (sent < frame.size()) {
    const ssize_t length = ::send(socket_.get(), frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
    if (length > 0) sent += static_cast<std::size_t>(length);
    else if (errno == EPIPE || errno == ECONNRESET) break;  // it has hung up, but may have said why before
    else if (errno != EAGAIN && errno != EINTR) return NoAnswer{errno_error(path_, errno).message};
    else if (!wait_for(socket_.get(), POLLOUT, end)) break;
  }
  const auto answer = next_frame(end);
  if (!answer && answer.error().code == ETIMEDOUT)
    return NoAnswer{path_ + " has not answered within " + seconds_text(limit), true};
  if (!answer) return NoAnswer{path_ + ": " + answer.error().message};
  const auto ok = answer->find("ok"), result = answer->find("result"), error = answer->find("error");
  if (ok != answer->end() && *ok == true && result != answer->end()) return *result;
  if (error != answer->end() && error->is_string()) return RefusedByMaster{error->get<std::string>()};
  return NoAnswer{path_ + ": what answers there is not moult"};
}

bool ControlClient::wait_for_end(Duration limit) {
  const MonotonicTime end = end_after(limit);
  char bytes[4096];
  for (;;) {
    if (!wait_for(socket_.get(), POLLIN, end)) return false;
    const ssize_t length = ::recv(socket_.get(), bytes, sizeof bytes, 0);
    if (length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR)) break;
  }
  return !master_ || wait_for(master_.get(), POLLIN, end);
}
}  // namespace moult
