#include "master/connections/send_queue.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
namespace moult {
namespace {
inline constexpr int fin_acknowledged = 5;  // TCP_FIN_WAIT2; <netinet/tcp.h> and <linux/tcp.h> exclude each other
}  // namespace

Result<SendQueueReading> read_send_queue(int fd) {
  int domain = 0;
  socklen_t size = sizeof domain;
  if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0)
    return errno_error("cannot ask a connection for its kind", errno);
  if (domain == AF_UNIX) return SendQueueReading{.tcp_state = fin_acknowledged};
  // The state first: the count beside TCP_CLOSE is then the last one, and says whether it ended well.
  tcp_info info{};
  size = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
    return errno_error("cannot ask a connection for its state", errno);
  int unacknowledged = 0;
  if (::ioctl(fd, SIOCOUTQ, &unacknowledged) != 0)
    return errno_error("cannot ask a connection for its unacknowledged bytes", errno);
  return SendQueueReading{.unacknowledged_bytes = static_cast<std::uint64_t>(unacknowledged),
                          .acknowledged_bytes = info.tcpi_bytes_acked,
                          .tcp_state = info.tcpi_state};
}

void abort_connection(UniqueFd connection) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(connection.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}
}  // namespace moult
