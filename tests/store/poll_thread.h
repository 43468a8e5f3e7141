#pragma once
// A thread that listens on a loopback port and looks after what connects, until it is destroyed. For stores that behave
// badly and for what stands between us and a good one; the tested loop runs in the test's own thread.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/store/free_port.h"
namespace moult {
// One who is looked after: readable descriptors in, false when it is over.
class Guest {
 public:
  virtual ~Guest() = default;
  virtual std::vector<int> descriptors() const = 0;
  virtual bool readable(int fd) = 0;
  virtual bool tick() { return true; }  // every poll_tick at least
};
inline constexpr int poll_tick_ms = 20;

class PollThread {
 public:
  using Welcome = std::function<std::unique_ptr<Guest>(UniqueFd)>;  // null: hung up

  explicit PollThread(Welcome welcome) : welcome_(std::move(welcome)) {
    ::listen(listener_.socket.get(), 1024);
    thread_ = std::thread([this] { run(); });
  }
  ~PollThread() {
    const std::uint64_t one = 1;
    (void)!::write(end_.get(), &one, sizeof one);
    thread_.join();
  }
  std::uint16_t port() const { return listener_.port; }

 private:
  void run() {
    for (;;) {
      std::vector<pollfd> polled{{end_.get(), POLLIN, 0}, {listener_.socket.get(), POLLIN, 0}};
      std::vector<std::size_t> whose{0, 0};
      for (std::size_t guest = 0; guest < guests_.size(); ++guest)
        for (const int fd : guests_[guest]->descriptors()) polled.push_back({fd, POLLIN, 0}), whose.push_back(guest);
      ::poll(polled.data(), polled.size(), poll_tick_ms);
      if (polled[0].revents) return;
      for (std::size_t at = 2; at < polled.size(); ++at)
        if (auto& guest = guests_[whose[at]]; polled[at].revents && guest && !guest->readable(polled[at].fd))
          guest.reset();
      for (auto& guest : guests_)
        if (guest && !guest->tick()) guest.reset();
      std::erase(guests_, nullptr);
      if (!polled[1].revents) continue;
      UniqueFd caller(::accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (auto guest = caller ? welcome_(std::move(caller)) : nullptr) guests_.push_back(std::move(guest));
    }
  }
  RefusingPort listener_;
  UniqueFd end_{::eventfd(0, EFD_CLOEXEC)};
  Welcome welcome_;
  std::vector<std::unique_ptr<Guest>> guests_;
  std::thread thread_;
};
}  // namespace moult
