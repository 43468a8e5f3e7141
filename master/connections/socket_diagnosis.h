#pragma once
// What the kernel knows of the TCP connections that came in at our doors, whoever holds them: workers, or nobody any
// more (NETLINK_SOCK_DIAG). Calls that do not wait: the kernel answers while it is asked; measured: 1 ms for 1,000
// connections, 5 ms for 4,000. Looking needs no privilege; destroying needs CAP_NET_ADMIN and a
// kernel with CONFIG_INET_DIAG_DESTROY. Called by TailWatch, on the loop's thread; each call opens its own netlink
// socket, so that none can read what another was told.
//
// Unix sockets are not looked at: what was written there lies in the client's own queue (send_queue.h).
#include <linux/inet_diag.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "master/connections/abort_ladder.h"
#include "master/connections/tails.h"
namespace moult {
// Where connections come in: the address of a listening socket. A door at :: that takes IPv4 too has those of both.
struct TcpDoor {
  std::uint8_t family = 0;                 // AF_INET or AF_INET6
  std::uint16_t port = 0;                  // in the host's order
  std::array<std::uint8_t, 16> address{};  // all zero: any; of AF_INET the first four
};
// Nothing: it is no TCP socket.
std::optional<TcpDoor> tcp_door(int listening_fd);
std::vector<TcpDoor> tcp_doors(const std::vector<int>& listening_fds);  // those of TCP

struct DiagnosedSocket {
  std::uint8_t family;
  inet_diag_sockid handle;  // as the kernel wants it back; its cookie tells two connections of one address apart
  SendQueueReading reading;
  std::uint64_t inode = 0;  // as fstat() says it of a descriptor; zero: nobody holds it any more

  TailId id() const;
};

// More of them at one door make a look fail: so many are no answer that comes in time.
inline constexpr std::size_t most_diagnosed_sockets = 65'536;

// Those with unacknowledged bytes. All or nothing: a look that was cut short is an error.
Result<std::vector<DiagnosedSocket>> undelivered_at(const std::vector<TcpDoor>&);
// One of those as it is now, also in TIME_WAIT; nothing: the kernel has no such connection any more.
Result<std::optional<DiagnosedSocket>> look_again_at(const DiagnosedSocket&);
// Whoever holds it meets ECONNABORTED, its client a reset, and what was queued is lost. Some kernels before 6.12 throw
// away what nobody holds, but go on showing it, and its client hears nothing of that.
AbortAnswer destroy(const DiagnosedSocket&);
}  // namespace moult
