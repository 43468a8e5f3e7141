#pragma once
// A port of the loopback interface that nobody listens on.
#include <arpa/inet.h>
#include <sys/socket.h>

#include <cstdint>

#include "base/unique_fd.h"
namespace moult {
// Bound but not listening: connecting is refused as long as it lives, and nobody else gets the port.
struct RefusingPort {
  UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port = 0;

  RefusingPort() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), length);
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length);
    port = ntohs(address.sin_port);
  }
};
// Free a moment ago.
inline std::uint16_t free_port() { return RefusingPort().port; }
}  // namespace moult
