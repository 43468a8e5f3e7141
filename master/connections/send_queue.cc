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
int socket_option(int fd, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}
}  // namespace

bool is_connection(int fd) {
  return socket_option(fd, SO_TYPE) == SOCK_STREAM && socket_option(fd, SO_ACCEPTCONN) == 0;
}

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

bool reset_connection(int fd) {
  const sockaddr nobody{.sa_family = AF_UNSPEC, .sa_data = {}};
  return ::connect(fd, &nobody, sizeof nobody) == 0;
}
}  // namespace moult
