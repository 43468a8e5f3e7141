#pragma once
// Both ends of a client's connection, and a loop to wait on. Bytes are small enough to go at once.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <uv.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <string>

#include "base/unique_fd.h"
namespace moult {
class TestLoop {
 public:
  TestLoop() { uv_loop_init(&loop_); }
  ~TestLoop() {
    uv_run(&loop_, UV_RUN_DEFAULT);
    EXPECT_EQ(uv_loop_close(&loop_), 0) << "a handle was left";
  }
  uv_loop_t* get() { return &loop_; }
  bool run_until(const std::function<bool()>& happened, std::chrono::seconds patience = std::chrono::seconds(20)) {
    uv_timer_t turn;  // so that it looks again
    uv_timer_init(&loop_, &turn);
    uv_timer_start(
        &turn, [](uv_timer_t*) {}, 2, 2);
    const auto end = std::chrono::steady_clock::now() + patience;
    bool reached = happened();
    for (; !reached && std::chrono::steady_clock::now() < end; reached = happened()) uv_run(&loop_, UV_RUN_ONCE);
    uv_close(reinterpret_cast<uv_handle_t*>(&turn), nullptr);
    while (uv_is_active(reinterpret_cast<uv_handle_t*>(&turn))) uv_run(&loop_, UV_RUN_NOWAIT);
    uv_run(&loop_, UV_RUN_NOWAIT);  // its close is over before it leaves the stack
    return reached;
  }

 private:
  uv_loop_t loop_;
};

inline std::string read_now(int fd) {
  char bytes[65536];
  const ssize_t count = ::recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
  return count > 0 ? std::string(bytes, static_cast<std::size_t>(count)) : "";
}
inline void send_now(int fd, const std::string& text) {
  EXPECT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

class ClientPair {
 public:
  UniqueFd client, server;

  static ClientPair unix_stream() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
  }
  static ClientPair tcp() {
    UniqueFd door(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        caller(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(door.get(), generic, size), 0);
    EXPECT_EQ(::listen(door.get(), 1), 0);
    EXPECT_EQ(::getsockname(door.get(), generic, &size), 0);
    EXPECT_EQ(::connect(caller.get(), generic, size), 0);
    return {std::move(caller), UniqueFd(::accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC))};
  }
  UniqueFd copy_of_server() const { return UniqueFd(::fcntl(server.get(), F_DUPFD_CLOEXEC, 0)); }

  void say(const std::string& text) { send_now(client.get(), text); }
  void reset_by_client() {
    const linger at_once{1, 0};
    ::setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    client.reset();
  }
  // All that it heard so far.
  const std::string& heard() {
    char bytes[4096];
    ssize_t count = 0;
    while ((count = ::recv(client.get(), bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
      heard_.append(bytes, static_cast<std::size_t>(count));
    if (count == 0) ended_ = true;
    if (count < 0 && errno != EAGAIN) ADD_FAILURE() << "the client met " << std::strerror(errno);
    return heard_;
  }
  bool ended() {
    heard();
    return ended_;
  }

 private:
  ClientPair(UniqueFd the_client, UniqueFd the_server) : client(std::move(the_client)), server(std::move(the_server)) {}
  std::string heard_;
  bool ended_ = false;
};
}  // namespace moult
