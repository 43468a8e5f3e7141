#include "master/launch/notify_socket.h"

#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <utility>

#include "worker/channel.h"
namespace moult {
namespace {
constexpr int most_in_one_turn = 64;    // one that talks all the time does not keep the loop from the others
constexpr int most_in_one_look = 4096;  // more than net.unix.max_dgram_qlen lets wait

// Bound to no name, a Unix socket gets a free abstract one from the kernel.
Result<std::string> bind_anywhere(int fd) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address.sun_family) != 0)
    return errno_error("cannot bind the notify socket", errno);
  socklen_t length = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    return errno_error("cannot name the notify socket", errno);
  const std::size_t name_bytes = length - offsetof(sockaddr_un, sun_path) - 1;
  return "@" + std::string(address.sun_path + 1, name_bytes);
}
}  // namespace

Result<std::unique_ptr<NotifySocket>> NotifySocket::open(uv_loop_t* loop, Heard heard) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return errno_error("cannot make the notify socket", errno);
  const int on = 1;
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0)
    return errno_error("cannot ask for credentials on the notify socket", errno);
  auto address = bind_anywhere(fd.get());
  if (!address) return address.error();
  const int watched = fd.get();
  std::unique_ptr<NotifySocket> made(new NotifySocket(std::move(fd), std::move(*address), std::move(heard)));
  auto watch = FdWatch::open(loop, watched, [self = made.get()](int) { self->read(most_in_one_turn); });
  if (!watch) return watch.error();
  made->watch_ = std::move(*watch);
  return made;
}

NotifySocket::NotifySocket(UniqueFd fd, std::string address, Heard heard)
    : fd_(std::move(fd)), address_(std::move(address)), heard_(std::move(heard)) {}

void NotifySocket::read_all() { read(most_in_one_look); }

void NotifySocket::read(int most) {
  for (int count = 0; count < most; ++count) {
    const Receipt receipt = receive_from(fd_.get());
    const auto* received = std::get_if<Received>(&receipt);
    if (!received) return;
    if (received->sender) heard_(*received->sender, received->message);
  }
}
}  // namespace moult
