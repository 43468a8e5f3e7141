#pragma once
// A libuv loop, a folder of its own and a control server on it, for tests that speak to it over real sockets. Waiting
// is always for something to become true, with a bound; a bound that is reached fails the test.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <uv.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/unique_fd.h"
#include "master/control/control_server.h"
#include "tests/unit/control/recorded_wishes.h"
namespace moult::test {
inline constexpr std::chrono::seconds patience{10};

class Loop {
 public:
  Loop() {
    ::signal(SIGPIPE, SIG_IGN);  // as block_signals_early() does in the master
    uv_loop_init(&loop_);
  }
  ~Loop() {
    run_once_more();
    EXPECT_EQ(uv_loop_close(&loop_), 0) << "a handle was left open";
  }
  uv_loop_t* get() { return &loop_; }
  void run_once_more() {
    for (int i = 0; i < 3; ++i) uv_run(&loop_, UV_RUN_NOWAIT);
  }
  bool run_until(const std::function<bool()>& true_now) {
    const auto end = std::chrono::steady_clock::now() + patience;
    uv_timer_t tick;  // so that the loop looks again
    uv_timer_init(&loop_, &tick);
    uv_timer_start(
        &tick, [](uv_timer_t*) {}, 1, 1);
    bool reached = false;
    while (!(reached = true_now()) && std::chrono::steady_clock::now() < end) uv_run(&loop_, UV_RUN_ONCE);
    uv_close(reinterpret_cast<uv_handle_t*>(&tick), nullptr);
    run_once_more();
    return reached;
  }

 private:
  uv_loop_t loop_;
};

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/moult-control-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A client that is made of a socket alone: it can be as rude as the test wants. Non-blocking.
class RawClient {
 public:
  explicit RawClient(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    if (::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd_.reset();
  }
  bool connected() const { return static_cast<bool>(fd_); }
  int fd() const { return fd_.get(); }
  ssize_t send(const std::string& bytes) { return ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  void close() { fd_.reset(); }
  // Reads what there is; `got` keeps all of it.
  void read() {
    char bytes[65536];
    ssize_t length;
    while ((length = ::recv(fd_.get(), bytes, sizeof bytes, 0)) > 0)
      got.append(bytes, static_cast<std::size_t>(length));
    ended = ended || length == 0 || (length < 0 && errno == ECONNRESET);
  }
  std::size_t lines() {
    read();
    return static_cast<std::size_t>(std::count(got.begin(), got.end(), '\n'));
  }
  bool has_ended() { return read(), ended; }

  std::string got;
  bool ended = false;

 private:
  UniqueFd fd_;
};

class ControlServerTest : public testing::Test {
 protected:
  ControlServerOptions options() {
    ControlServerOptions options;
    options.path = folder / "moult.sock";
    options.identity = {"web", "9.8.7"};
    return options;
  }
  void open(ControlServerOptions with) {
    auto opened = ControlServer::open(loop.get(), std::move(with), wishes);
    ASSERT_TRUE(opened) << opened.error().message;
    server = *std::move(opened);
  }
  void open() { open(options()); }
  std::string path() const { return folder / "moult.sock"; }

  Folder folder;
  Loop loop;
  RecordedWishes recorded;
  Operator wishes{recorded.parts()};
  std::unique_ptr<ControlServer> server;
};
}  // namespace moult::test
