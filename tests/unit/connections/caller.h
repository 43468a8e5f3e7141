#pragma once
// A public door, TCP or unix, and clients that come to it.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/unique_fd.h"
#include "tests/unit/connections/scratch.h"
namespace moult {
struct PublicDoor {
  UniqueFd fd;
  sockaddr_storage address{};
  socklen_t size = 0;

  static PublicDoor tcp() {
    sockaddr_in any{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    return open(&any, sizeof any);
  }
  static PublicDoor unix_path(const std::string& path) {
    sockaddr_un named = unix_address(path);
    return open(&named, sizeof named);
  }

 private:
  static PublicDoor open(const void* where, socklen_t size) {
    PublicDoor made;
    std::memcpy(&made.address, where, size);
    made.size = size;
    auto* generic = reinterpret_cast<sockaddr*>(&made.address);
    made.fd = UniqueFd(::socket(generic->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(made.fd.get(), generic, size), 0) << std::strerror(errno);
    EXPECT_EQ(::listen(made.fd.get(), 1024), 0);
    EXPECT_EQ(::getsockname(made.fd.get(), generic, &made.size), 0);
    return made;
  }
};

class Caller {
 public:
  bool was_reset = false;

  explicit Caller(const PublicDoor& door) {
    const auto* to = reinterpret_cast<const sockaddr*>(&door.address);
    fd_ = UniqueFd(::socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd_.get(), to, door.size), 0) << std::strerror(errno);
  }
  void say(const std::string& text) {
    EXPECT_EQ(::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  // As much as is taken at once.
  void say_now(const std::string& text) { ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT); }
  void says_no_more() { ::shutdown(fd_.get(), SHUT_WR); }
  void hang_up() { fd_.reset(); }
  void reset() {
    const linger at_once{1, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    fd_.reset();
  }
  // All that it heard so far.
  const std::string& heard() {
    char bytes[4096];
    ssize_t count = 0;
    while (fd_ && !ended_ && (count = ::recv(fd_.get(), bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
      heard_.append(bytes, static_cast<std::size_t>(count));
    if (fd_ && !ended_ && (count == 0 || errno != EAGAIN)) {
      ended_ = true;
      was_reset = count < 0;
    }
    return heard_;
  }
  bool ended() {
    heard();
    return ended_;
  }

 private:
  UniqueFd fd_;
  std::string heard_;
  bool ended_ = false;
};
}  // namespace moult
