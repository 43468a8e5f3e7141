#include "master/connections/socket_diagnosis.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>

#include "base/unique_fd.h"
namespace moult {
namespace {
// As the kernel numbers the states (<netinet/tcp.h>, which <linux/tcp.h> excludes): ESTABLISHED, FIN_WAIT1, CLOSE_WAIT,
// LAST_ACK, CLOSING. In no other can bytes be unacknowledged, and a busy server has thousands in TIME_WAIT.
inline constexpr std::uint32_t sending_states = 1u << 1 | 1u << 4 | 1u << 8 | 1u << 9 | 1u << 11;
inline constexpr std::uint32_t all_states = ~0u;
inline constexpr std::size_t answer_bytes = 32 * 1024;  // the kernel fills no more into one (netlink_dump)

struct Request {
  nlmsghdr header;
  inet_diag_req_v2 body;
};
Request request(std::uint16_t type, std::uint16_t flags, std::uint8_t family, std::uint32_t states,
                const inet_diag_sockid& which) {
  Request made{};
  made.header.nlmsg_len = sizeof made;
  made.header.nlmsg_type = type;
  made.header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
  made.body.sdiag_family = family;
  made.body.sdiag_protocol = IPPROTO_TCP;
  made.body.idiag_ext = 1u << (INET_DIAG_INFO - 1);
  made.body.idiag_states = states;
  made.body.id = which;
  return made;
}

Error broken(const std::string& why) { return {"cannot look at the connections of workers: " + why}; }
Error broken(int code) { return errno_error("cannot look at the connections of workers", code); }

DiagnosedSocket socket_in(const nlmsghdr* message) {
  const auto* found = static_cast<const inet_diag_msg*>(NLMSG_DATA(message));
  DiagnosedSocket socket{found->idiag_family, found->id, {}};
  socket.reading.unacknowledged_bytes = found->idiag_wqueue;
  socket.reading.tcp_state = found->idiag_state;
  socket.inode = found->idiag_inode;
  int left = static_cast<int>(message->nlmsg_len - NLMSG_LENGTH(sizeof *found));
  for (const auto* attribute = reinterpret_cast<const rtattr*>(found + 1); RTA_OK(attribute, left);
       attribute = RTA_NEXT(attribute, left)) {
    if (attribute->rta_type != INET_DIAG_INFO) continue;
    tcp_info info{};  // of a kernel that is older or newer: shorter or longer
    std::memcpy(&info, RTA_DATA(attribute), std::min<std::size_t>(RTA_PAYLOAD(attribute), sizeof info));
    socket.reading.acknowledged_bytes = info.tcpi_bytes_acked;
  }
  return socket;
}

// Whether there is more to come. The error has the kernel's errno where it sent one: ENOENT, EPERM, ...
using Take = std::function<void(const DiagnosedSocket&)>;
Result<bool> take_answer(const char* bytes, std::size_t length, const Take& take) {
  auto left = static_cast<unsigned>(length);
  for (const auto* message = reinterpret_cast<const nlmsghdr*>(bytes); NLMSG_OK(message, left);
       message = NLMSG_NEXT(message, left)) {
    if (message->nlmsg_type == NLMSG_DONE) return false;
    if (message->nlmsg_type == NLMSG_ERROR) {
      if (message->nlmsg_len < NLMSG_LENGTH(sizeof(nlmsgerr))) return broken("the kernel's answer is cut short");
      const int code = -static_cast<const nlmsgerr*>(NLMSG_DATA(message))->error;
      if (code == 0) return false;
      return broken(code);
    }
    if (message->nlmsg_flags & NLM_F_DUMP_INTR) return broken("they changed meanwhile");
    if (message->nlmsg_type != SOCK_DIAG_BY_FAMILY) continue;
    if (message->nlmsg_len < NLMSG_LENGTH(sizeof(inet_diag_msg))) return broken("the kernel's answer is cut short");
    take(socket_in(message));
    if (!(message->nlmsg_flags & NLM_F_MULTI)) return false;
  }
  return true;
}

Result<void> ask(const Request& request, const Take& take) {
  const UniqueFd netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!netlink) return broken(errno);
  if (::send(netlink.get(), &request, sizeof request, 0) != sizeof request) return broken(errno);
  alignas(nlmsghdr) std::array<char, answer_bytes> bytes;
  while (true) {
    const ssize_t count = ::recv(netlink.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return broken(errno);
    if (static_cast<std::size_t>(count) > bytes.size()) return broken("the kernel's answer is cut short");
    const Result<bool> more = take_answer(bytes.data(), static_cast<std::size_t>(count), take);
    if (!more) return more.error();
    if (!*more) return {};
  }
}

bool came_in_at(const TcpDoor& door, const DiagnosedSocket& socket) {
  const std::array<std::uint8_t, 16> any{};
  return door.address == any || std::memcmp(door.address.data(), socket.handle.idiag_src, door.address.size()) == 0;
}
}  // namespace

TailId DiagnosedSocket::id() const { return {std::uint64_t{handle.idiag_cookie[1]} << 32 | handle.idiag_cookie[0]}; }

std::optional<TcpDoor> tcp_door(int listening_fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(listening_fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return std::nullopt;
  TcpDoor door{.family = static_cast<std::uint8_t>(address.ss_family)};
  if (address.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    door.port = ntohs(four.sin_port);
    std::memcpy(door.address.data(), &four.sin_addr, sizeof four.sin_addr);
    return door;
  }
  if (address.ss_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
    door.port = ntohs(six.sin6_port);
    std::memcpy(door.address.data(), &six.sin6_addr, sizeof six.sin6_addr);
    return door;
  }
  return std::nullopt;
}

std::vector<TcpDoor> tcp_doors(const std::vector<int>& listening_fds) {
  std::vector<TcpDoor> doors;
  for (const int fd : listening_fds)
    if (const auto door = tcp_door(fd)) doors.push_back(*door);
  return doors;
}

Result<std::vector<DiagnosedSocket>> undelivered_at(const std::vector<TcpDoor>& doors) {
  std::vector<DiagnosedSocket> found;
  for (const TcpDoor& door : doors) {
    inet_diag_sockid which{};
    which.idiag_sport = htons(door.port);
    std::size_t seen = 0;
    const auto take = [&](const DiagnosedSocket& socket) {
      ++seen;
      if (seen <= most_diagnosed_sockets && socket.reading.unacknowledged_bytes > 0 && came_in_at(door, socket))
        found.push_back(socket);
    };
    const auto asked = ask(request(SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, door.family, sending_states, which), take);
    if (!asked) return asked.error();
    if (seen > most_diagnosed_sockets)
      return broken("more than " + std::to_string(most_diagnosed_sockets) + " at port " + std::to_string(door.port));
  }
  return found;
}

Result<std::optional<DiagnosedSocket>> look_again_at(const DiagnosedSocket& socket) {
  std::optional<DiagnosedSocket> found;
  const auto asked = ask(request(SOCK_DIAG_BY_FAMILY, 0, socket.family, all_states, socket.handle),
                         [&](const DiagnosedSocket& now) { found = now; });
  if (!asked && asked.error().code != ENOENT) return asked.error();
  return found;
}

AbortAnswer destroy(const DiagnosedSocket& socket) {
  const auto asked =
      ask(request(SOCK_DESTROY, NLM_F_ACK, socket.family, all_states, socket.handle), [](const auto&) {});
  if (asked) return AbortAnswer::done;
  switch (asked.error().code) {
    case ENOENT: return AbortAnswer::gone;
    case EPERM:
    case EACCES:
    case EOPNOTSUPP: return AbortAnswer::refused;
    default: return AbortAnswer::failed;
  }
}
}  // namespace moult
