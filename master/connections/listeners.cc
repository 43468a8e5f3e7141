#include "master/connections/listeners.h"

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "master/connections/service_manager_sockets.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
constexpr auto pause_between_tries = 100ms;
constexpr std::size_t listeners_most = 512;  // far more than anybody has; each worker holds a copy of each

Result<ListeningSocket> open_once(const BindAddress& address, const SocketOptions& options) {
  if (const auto* tcp = std::get_if<TcpAddress>(&address)) return ListeningSocket::open(*tcp, options);
  if (const auto* file = std::get_if<UnixAddress>(&address)) return ListeningSocket::open(*file, options);
  return ListeningSocket::adopt(std::get<InheritedFd>(address).fd, to_text(address));
}

bool is_open(const std::vector<ListeningSocket>& sockets, const BindAddress& address) {
  return std::any_of(sockets.begin(), sockets.end(), [&](const ListeningSocket& socket) {
    const auto* inherited = std::get_if<InheritedFd>(&address);
    return inherited ? socket.fd() == inherited->fd : socket.address() == to_text(address);
  });
}
}  // namespace

Result<ListeningSocket> open_listening_socket(const BindAddress& address, const ListenerOptions& options) {
  const auto end = std::chrono::steady_clock::now() + options.patience;
  auto opened = open_once(address, options.socket);
  while (!opened && opened.error().code == EADDRINUSE && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(pause_between_tries);
    opened = open_once(address, options.socket);
  }
  return opened;
}

Result<Listeners> Listeners::open(const ListenerOptions& options) {
  auto passed = take_service_manager_sockets();
  if (!passed) return passed.error();
  std::vector<ListeningSocket> sockets = std::move(*passed);
  const auto passed_count = sockets.size();
  std::vector<BindAddress> wanted = options.binds;
  if (wanted.empty() && sockets.empty()) wanted.push_back(options.default_bind);
  if (wanted.size() > listeners_most) {
    return Error{std::to_string(wanted.size()) + " addresses are given with -b: moult takes at most " +
                 std::to_string(listeners_most)};
  }
  for (const BindAddress& address : wanted) {
    if (is_open(sockets, address)) {
      if (passed_count > 0) continue;
      return Error{to_text(address) + " is given twice with -b: leave one out", EADDRINUSE};
    }
    auto opened = open_listening_socket(address, options);
    if (!opened) return opened.error();
    sockets.push_back(std::move(*opened));
  }
  return Listeners(std::move(sockets));
}

std::vector<int> Listeners::descriptors() const {
  std::vector<int> all;
  for (const ListeningSocket& socket : sockets_) all.push_back(socket.fd());
  return all;
}

std::vector<ListenerDescription> Listeners::describe() const {
  std::vector<ListenerDescription> all;
  for (const ListeningSocket& socket : sockets_) all.push_back({socket.fd(), socket.address(), socket.family()});
  return all;
}
}  // namespace moult
