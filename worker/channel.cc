#include "worker/channel.h"

#include <array>
#include <cerrno>
#include <cstring>
namespace moult {
namespace {
constexpr std::size_t fds_bytes = sizeof(int) * max_passed_fds;

// Takes ownership of every descriptor in a control message before anything can fail.
void take(const cmsghdr* control, Received& received) {
  if (control->cmsg_level != SOL_SOCKET) return;
  if (control->cmsg_type == SCM_RIGHTS) {
    const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(control) + i * sizeof(int), sizeof fd);
      received.fds.emplace_back(fd);
    }
  } else if (control->cmsg_type == SCM_CREDENTIALS) {
    ucred sender{};
    std::memcpy(&sender, CMSG_DATA(control), sizeof sender);
    received.sender = sender;
  }
}

Result<Sent> outcome(int code) {
  switch (code) {
    case EAGAIN: return Sent::would_block;
    case ENOBUFS:
    case ENOMEM:
    case ETOOMANYREFS: return Sent::try_later;
    case EPIPE:
    case ECONNRESET:
    case ENOTCONN: return Sent::peer_gone;
    default: return errno_error("cannot send on the channel", code);
  }
}
}  // namespace

Result<std::pair<Channel, UniqueFd>> Channel::pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return errno_error("cannot make a channel", errno);
  UniqueFd ours(ends[0]), theirs(ends[1]);
  const int on = 1;
  if (::setsockopt(ours.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0)
    return errno_error("cannot ask for credentials on a channel", errno);
  return std::pair(Channel(std::move(ours)), std::move(theirs));
}

Result<Sent> Channel::send(const Message& message, std::span<const int> fds) {
  if (fds.size() > max_passed_fds) return Error{"cannot send on the channel: more than 8 descriptors in one message"};
  auto datagram = serialise(message);
  if (!datagram) return datagram.error();
  iovec content{datagram->data(), datagram->size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(fds_bytes)> control{};
  msghdr header{};
  header.msg_iov = &content;
  header.msg_iovlen = 1;
  if (!fds.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  }
  while (::sendmsg(fd_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
    if (errno != EINTR) return outcome(errno);
  return Sent::sent;
}

Receipt receive_from(int fd) {
  std::array<char, max_message_bytes> buffer;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(fds_bytes) + CMSG_SPACE(sizeof(ucred))> control;
  iovec content{buffer.data(), buffer.size()};
  msghdr header{};
  header.msg_iov = &content;
  header.msg_iovlen = 1;
  ssize_t length = -1;
  do {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    length = ::recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    // ECONNRESET is said once, when the peer closed with our messages unread. What it sent before still waits.
  } while (length < 0 && (errno == EINTR || errno == ECONNRESET));
  if (length < 0 && errno == EAGAIN) return NothingNow{};
  if (length < 0) return errno_error("cannot receive on the channel", errno);

  Received received{.message = Error{}, .fds = {}};
  for (const cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, const_cast<cmsghdr*>(c)))
    take(c, received);
  // An empty datagram looks like the end of the stream, but brings its sender's credentials where we ask for them.
  if (length == 0 && !received.sender && received.fds.empty()) return EndOfStream{};
  received.fds_lost = (header.msg_flags & MSG_CTRUNC) != 0 || received.fds.size() > max_passed_fds;
  if (received.fds.size() > max_passed_fds) received.fds.resize(max_passed_fds);
  received.message = (header.msg_flags & MSG_TRUNC) != 0 ? Result<Message>(Error{"bad message: longer than 64 KiB"})
                                                         : parse({buffer.data(), static_cast<std::size_t>(length)});
  return received;
}
}  // namespace moult
