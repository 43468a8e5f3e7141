#pragma once
// One end of the SOCK_SEQPACKET pair between the master and a worker or a fork server: messages and descriptors, whole
// or not at all. Used by master, fork server and C++ worker alike. Never blocks, whatever flags the descriptor has;
// never raises SIGPIPE. Move-only; closes its end when it goes. Not thread-safe.
//
// Descriptors are acknowledged by the protocol, not by the socket: a receiver whose table is full loses those that
// came with a message. So whoever sends one keeps its own until the other side said that it has it (fd_custody.h).
//
// For a loop: a peer that went away without reading all that it was sent leaves an error on the socket. uv_poll then
// stops by itself and calls back with UV_EBADF, although datagrams may wait: call receive() until EndOfStream.
#include <sys/socket.h>

#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "worker/message.h"
namespace moult {
inline constexpr std::size_t max_passed_fds = 8;  // in one message; the protocol's most is 4 (FORK=)

enum class Sent {
  sent,
  would_block,  // the other side is behind: poll for writing, then send again
  try_later,    // too many fds in flight, or no memory: polling does not tell when, so try again after a while
  peer_gone
};

struct Received {
  Result<Message> message;        // or what was wrong with the datagram (it is consumed)
  std::vector<UniqueFd> fds;      // all CLOEXEC
  bool fds_lost = false;          // some that were sent did not arrive: our table is full, or there were more than 8
  std::optional<ucred> sender{};  // the kernel's word, in our pid namespace; only at an end with SO_PASSCRED
};
struct NothingNow {};
struct EndOfStream {};  // the other end is closed and everything it sent was read
using Receipt = std::variant<Received, NothingNow, EndOfStream, Error>;

// One datagram from any Unix socket (the channel, or a NOTIFY_SOCKET with SO_PASSCRED).
Receipt receive_from(int fd);

class Channel {
 public:
  // Takes an end that somebody else made.
  explicit Channel(UniqueFd fd) : fd_(std::move(fd)) {}
  // The master's end, with SO_PASSCRED, and the one to pass on. Both are CLOEXEC and blocking.
  static Result<std::pair<Channel, UniqueFd>> pair();

  // All or nothing. The fds stay the caller's, whatever comes of it. An error is the caller's fault (a message that
  // cannot be written, more than 8 fds, a bad fd) and not the peer's.
  Result<Sent> send(const Message&, std::span<const int> fds = {});
  Receipt receive() { return receive_from(fd_.get()); }

  int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
};
}  // namespace moult
