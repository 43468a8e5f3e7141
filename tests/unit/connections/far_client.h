#pragma once
// Clients whose kernel can be made deaf, as if their machine were gone or the line cut: what is sent to them is never
// acknowledged. Real sockets on loopback; nobody waits for a time-out of the kernel's.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/unique_fd.h"
namespace moult {
class FarClient {
 public:
  UniqueFd client, server;

  // Empty, or why clients cannot be made deaf here.
  static std::string why_not() {
    const UniqueFd any(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return drop_all(any.get()) ? "" : std::string("cannot put a filter on a socket: ") + std::strerror(errno);
  }
  // Drops every segment that comes for the client, in its kernel.
  void deafen() { EXPECT_TRUE(drop_all(client.get())) << std::strerror(errno); }
  void hear_again() {
    int none = 0;
    EXPECT_EQ(::setsockopt(client.get(), SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof none), 0);
  }
  // Sends as a server does, until no more fits into the queues; how much that was.
  std::size_t fill() {
    const std::string part(64 * 1024, 'x');
    std::size_t sent = 0;
    ssize_t count = 0;
    while ((count = ::send(server.get(), part.data(), part.size(), MSG_DONTWAIT | MSG_NOSIGNAL)) > 0)
      sent += static_cast<std::size_t>(count);
    return sent;
  }
  void answer(const std::string& text) {
    EXPECT_EQ(::send(server.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  void say(const std::string& text) {
    EXPECT_EQ(::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  // What can be read now, at most so much of it; `met` says what came then, and stays.
  std::string read(std::size_t most = std::string::npos) {
    std::string all;
    std::array<char, 64 * 1024> bytes;
    while (met == Met::nothing && all.size() < most) {
      const ssize_t count = ::recv(client.get(), bytes.data(), std::min(bytes.size(), most - all.size()), MSG_DONTWAIT);
      if (count == 0) met = Met::end;
      if (count < 0 && errno != EAGAIN) met = Met::reset;
      if (count <= 0) break;
      all.append(bytes.data(), static_cast<std::size_t>(count));
    }
    return all;
  }
  void reset() {
    const linger at_once{1, 0};
    ::setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    client.reset();
  }
  enum class Met { nothing, end, reset } met = Met::nothing;

 private:
  static bool drop_all(int fd) {
    sock_filter drop{BPF_RET | BPF_K, 0, 0, 0};
    const sock_fprog program{1, &drop};
    return ::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
  }
};

// A listening socket and those who come to it.
class TestDoor {
 public:
  // Port 0: any.
  explicit TestDoor(const std::string& host = "127.0.0.1", std::uint16_t port = 0)
      : family_(host.find(':') == host.npos ? AF_INET : AF_INET6) {
    listener = UniqueFd(::socket(family_, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!listener) return;
    const int no = 0, yes = 1;
    if (family_ == AF_INET6) ::setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    open_ = set(host, port) && ::bind(listener.get(), address(), sizeof address_) == 0 &&
            ::listen(listener.get(), 1024) == 0;
    socklen_t size = sizeof address_;
    ::getsockname(listener.get(), address(), &size);
  }
  bool is_open() const { return open_; }
  std::uint16_t port() const {
    return ntohs(family_ == AF_INET ? reinterpret_cast<const sockaddr_in&>(address_).sin_port
                                    : reinterpret_cast<const sockaddr_in6&>(address_).sin6_port);
  }
  FarClient call() const { return call(family_, reinterpret_cast<const sockaddr*>(&address_)); }
  // To a door that takes both.
  FarClient call_by_ipv4() const {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(port());
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return call(AF_INET, reinterpret_cast<const sockaddr*>(&four));
  }
  UniqueFd listener;

 private:
  sockaddr* address() { return reinterpret_cast<sockaddr*>(&address_); }
  bool set(const std::string& host, std::uint16_t port) {
    address_.ss_family = static_cast<sa_family_t>(family_);
    if (family_ == AF_INET) {
      auto& four = reinterpret_cast<sockaddr_in&>(address_);
      four.sin_port = htons(port);
      return ::inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1;
    }
    auto& six = reinterpret_cast<sockaddr_in6&>(address_);
    six.sin6_port = htons(port);
    return ::inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) == 1;
  }
  // Small buffers, so that little fills them.
  FarClient call(int family, const sockaddr* to) const {
    FarClient made;
    made.client = UniqueFd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int small = 16 * 1024, larger = 128 * 1024;
    ::setsockopt(made.client.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    EXPECT_EQ(::connect(made.client.get(), to, sizeof address_), 0) << std::strerror(errno);
    made.server = UniqueFd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ::setsockopt(made.server.get(), SOL_SOCKET, SO_SNDBUF, &larger, sizeof larger);
    return made;
  }
  int family_;
  bool open_ = false;
  sockaddr_storage address_{};
};
}  // namespace moult
