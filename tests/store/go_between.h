#pragma once
// Stands between us and a real store on a unix socket or a loopback port: lets its replies drip, or cuts the connection
// when a reply has come, which is after the call was carried out and before we hear of it.
#include <sys/un.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/store/poll_thread.h"
namespace moult {
class GoBetween {
 public:
  struct Manner {
    std::string store;  // its unix socket; empty: its port
    std::uint16_t port = 0;
    std::size_t bytes_a_second = 0;                  // of replies; zero: all at once
    std::function<bool(std::string_view call)> cut;  // the reply to what was said last; in the thread
  };
  explicit GoBetween(Manner manner)
      : thread_([manner = std::move(manner)](UniqueFd caller) -> std::unique_ptr<Guest> {
          auto pair = std::make_unique<Pair>(std::move(caller), manner);
          if (!pair->reach_store()) return nullptr;
          return pair;
        }) {}
  std::uint16_t port() const { return thread_.port(); }

 private:
  struct Pair final : Guest {
    Pair(UniqueFd caller, const Manner& how) : ours(std::move(caller)), manner(how) {}
    bool reach_store() {
      sockaddr_un path{};
      path.sun_family = AF_UNIX;
      std::memcpy(path.sun_path, manner.store.data(), manner.store.size());
      sockaddr_in port{};
      port.sin_family = AF_INET;
      port.sin_port = htons(manner.port);
      port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      const bool by_port = manner.port != 0;
      store = UniqueFd(::socket(by_port ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      return ::connect(store.get(), by_port ? reinterpret_cast<sockaddr*>(&port) : reinterpret_cast<sockaddr*>(&path),
                       by_port ? sizeof port : sizeof path) == 0;
    }
    std::vector<int> descriptors() const override { return {ours.get(), store.get()}; }
    bool readable(int fd) override {
      char bytes[65536];
      const ssize_t length = ::recv(fd, bytes, sizeof bytes, 0);
      if (length <= 0) return false;
      const std::string_view got(bytes, static_cast<std::size_t>(length));
      if (fd == ours.get()) {
        call = got;
        return ::send(store.get(), bytes, got.size(), MSG_NOSIGNAL) == length;
      }
      if (manner.cut && manner.cut(call)) return false;
      if (manner.bytes_a_second == 0) return ::send(ours.get(), bytes, got.size(), MSG_NOSIGNAL) == length;
      held += got;
      return true;
    }
    bool tick() override {
      const auto now = std::chrono::steady_clock::now();
      if (held.empty() || now < next) return true;
      next = now + std::chrono::milliseconds(1000 / manner.bytes_a_second);
      const bool sent = ::send(ours.get(), held.data(), 1, MSG_NOSIGNAL) == 1;
      held.erase(0, 1);
      return sent;
    }
    UniqueFd ours, store;
    Manner manner;
    std::string call, held;
    std::chrono::steady_clock::time_point next{};
  };
  PollThread thread_;
};
}  // namespace moult
