#pragma once
// A loop, and an app behind a unix socket that does with each request what the test says: what no real app can be made
// to do reliably.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd_watch.h"
#include "base/machine.h"
#include "base/unique_fd.h"
namespace moult {
inline constexpr std::chrono::seconds patience{20};

class Loop {
 public:
  Loop() {
    ::signal(SIGPIPE, SIG_IGN);
    uv_loop_init(&loop_);
  }
  ~Loop() {
    int closed = UV_EBUSY;
    for (int turn = 0; turn < 16 && (closed = uv_loop_close(&loop_)) == UV_EBUSY; ++turn) uv_run(&loop_, UV_RUN_NOWAIT);
    EXPECT_EQ(closed, 0) << "a handle was left open";
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  uv_loop_t* get() { return &loop_; }
  Budget budget(Duration whole) {
    uv_update_time(&loop_);
    return {monotonic_now(&loop_) + whole};
  }
  bool run_until(const std::function<bool()>& true_now) {
    const auto end = std::chrono::steady_clock::now() + patience;
    const auto timer = make_timer(&loop_, nullptr);  // so that the loop looks again
    uv_timer_start(
        timer.get(), [](uv_timer_t*) {}, 1, 1);
    while (!true_now() && std::chrono::steady_clock::now() < end) uv_run(&loop_, UV_RUN_ONCE);
    return true_now();
  }
  void run_for(Duration time) {
    const auto end = std::chrono::steady_clock::now() + time;
    run_until([&] { return std::chrono::steady_clock::now() >= end; });
  }

 private:
  uv_loop_t loop_;
};

class AppAtTheDoor {
 public:
  // What is answered to the head of a request; nothing: nothing yet. After an answer it hangs up.
  using Answer = std::function<std::string(const std::string& head)>;
  AppAtTheDoor(Loop& loop, Answer answer) : loop_(loop), answer_(std::move(answer)) {
    std::string name = "/tmp/moult-door-XXXXXX";
    folder_ = mkdtemp(name.data());
    open();
  }
  ~AppAtTheDoor() {
    shut();
    rmdir(folder_.c_str());
  }
  std::string path() const { return folder_ + "/d"; }
  void open() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path().c_str());
    listener_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
    listening_ = std::move(*FdWatch::open(loop_.get(), listener_.get(), [this](int) { accept(); }));
  }
  void shut() {
    listening_.reset();
    listener_.reset();
    unlink(path().c_str());
  }
  void hang_up() { guests_.clear(); }
  std::vector<std::string> heads;

 private:
  struct Guest {
    UniqueFd socket;
    std::string head;
    std::unique_ptr<FdWatch> watch;
  };
  void accept() {
    UniqueFd taken(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!taken) return;
    const int fd = taken.get();
    auto& guest = guests_.emplace_back(std::make_unique<Guest>());
    guest->socket = std::move(taken);
    guest->watch = std::move(*FdWatch::open(loop_.get(), fd, [this, to = guest.get()](int) { read(*to); }));
  }
  void read(Guest& guest) {
    char bytes[4096];
    const ssize_t length = ::recv(guest.socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (length <= 0) return guest.watch->want(0);
    guest.head.append(bytes, static_cast<std::size_t>(length));
    if (guest.head.find("\r\n\r\n") == std::string::npos) return;
    heads.push_back(guest.head);
    const std::string said = answer_(guest.head);
    if (said.empty()) return;
    ::send(guest.socket.get(), said.data(), said.size(), MSG_NOSIGNAL);
    ::shutdown(guest.socket.get(), SHUT_WR);
    guest.watch->want(0);
  }

  Loop& loop_;
  Answer answer_;
  std::string folder_;
  UniqueFd listener_;
  std::unique_ptr<FdWatch> listening_;
  std::vector<std::unique_ptr<Guest>> guests_;
};
}  // namespace moult
