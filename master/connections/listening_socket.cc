#include "master/connections/listening_socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "master/connections/newcomers.h"
#include "master/connections/process_name.h"
namespace moult {
namespace {
std::string why_not_bound(const TcpAddress& tcp, const std::string& flag, int code) {
  std::string why = std::strerror(code);
  if (code == EADDRINUSE) {
    const std::string holder = port_holder(tcp.port);
    why += holder.empty() ? "; stop the program that listens there" : ": " + holder + " listens there; stop it";
    why += ", or choose another port with " + flag;
  }
  if (code == EACCES) why += "; a port below 1024 needs root, or choose another with " + flag;
  if (code == EADDRNOTAVAIL) why += "; this machine has no such address";
  return why;
}

Error cannot_bind(const std::string& address, const std::string& why, int code) {
  return {"cannot bind " + address + ": " + why, code};
}

Result<UniqueFd> new_socket(int family, const std::string& address) {
  UniqueFd fd(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return errno_error("cannot open a socket for " + address, errno);
  return fd;
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

// A port of zero becomes the one that the kernel chose.
Result<std::pair<std::string, ListenerFamily>> name_of(int fd, const std::string& what) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  if (getsockname(fd, address, &size) < 0) return errno_error("cannot ask for the address of " + what, errno);
  if (address->sa_family == AF_UNIX) {
    const auto* local = reinterpret_cast<const sockaddr_un*>(&storage);
    const std::size_t length = size - offsetof(sockaddr_un, sun_path);
    std::string path(local->sun_path, length);
    if (!path.empty() && path.front() == '\0') path.front() = '@';
    return std::pair{"unix:" + std::string(path.c_str()), ListenerFamily::unix_path};
  }
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getnameinfo(address, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return Error{what + " has an address that cannot be written", EAFNOSUPPORT};
  }
  if (address->sa_family == AF_INET) return std::pair{std::string(host) + ":" + port, ListenerFamily::inet};
  return std::pair{"[" + std::string(host) + "]:" + port, ListenerFamily::inet6};
}

Result<void> demand(int fd, int option, int wanted, const std::string& what, const char* otherwise) {
  int value = 0;
  socklen_t size = sizeof value;
  if (getsockopt(fd, SOL_SOCKET, option, &value, &size) < 0) {
    const int code = errno;
    return Error{what + (code == EBADF ? " is not open" : " is no socket"), code};
  }
  if (value != wanted) return Error{what + otherwise, EINVAL};
  return {};
}
}  // namespace

const char* name(ListenerFamily family) {
  switch (family) {
    case ListenerFamily::inet: return "inet";
    case ListenerFamily::inet6: return "inet6";
    case ListenerFamily::unix_path: return "unix";
  }
  return "";
}

Result<ListeningSocket> ListeningSocket::open(const TcpAddress& tcp, const SocketOptions& options) {
  const std::string wanted = to_text(tcp);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  const int lookup = getaddrinfo(tcp.host.c_str(), std::to_string(tcp.port).c_str(), &hints, &found);
  if (lookup != 0) return cannot_bind(wanted, gai_strerror(lookup), EADDRNOTAVAIL);
  const std::unique_ptr<addrinfo, FreeAddresses> address(found);
  auto fd = new_socket(address->ai_family, wanted);
  if (!fd) return fd.error();
  const int on = 1;
  setsockopt(fd->get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address->ai_family == AF_INET6) setsockopt(fd->get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (bind(fd->get(), address->ai_addr, address->ai_addrlen) < 0 || listen(fd->get(), options.backlog) < 0) {
    const int code = errno;
    return cannot_bind(wanted, why_not_bound(tcp, options.flag, code), code);
  }
  auto named = name_of(fd->get(), wanted);
  if (!named) return named.error();
  return ListeningSocket(std::move(*fd), named->first, named->second);
}

Result<ListeningSocket> ListeningSocket::open(const UnixAddress& address, const SocketOptions& options) {
  const std::string wanted = to_text(address);
  const char* path = address.path.c_str();
  const mode_t mode = address.mode.value_or(options.unix_mode);
  sockaddr_un bound{};
  bound.sun_family = AF_UNIX;
  if (address.path.size() > unix_path_most_bytes) return cannot_bind(wanted, std::strerror(ENAMETOOLONG), ENAMETOOLONG);
  std::memcpy(bound.sun_path, path, address.path.size());
  auto fd = new_socket(AF_UNIX, wanted);
  if (!fd) return fd.error();
  const auto lock = FolderLock::of(address.path);
  if (!lock) return cannot_bind(wanted, lock.error().message, lock.error().code);
  const auto free = clear_socket_path(address.path);
  if (!free) return cannot_bind(wanted, free.error().message, free.error().code);
  // The file is born with the mode of the descriptor, less the umask: it is never wider than asked, not for a moment.
  fchmod(fd->get(), mode);
  if (bind(fd->get(), reinterpret_cast<const sockaddr*>(&bound), sizeof bound) < 0) {
    return cannot_bind(wanted, std::strerror(errno), errno);
  }
  auto file = SocketFile::just_bound(address.path);
  if (!file) return file.error();
  const bool owned = options.unix_owner || options.unix_group;
  if (owned && lchown(path, options.unix_owner.value_or(-1), options.unix_group.value_or(-1)) < 0) {
    return errno_error("cannot give " + wanted + " to the user of --user and --group", errno);
  }
  if (chmod(path, mode) < 0) return errno_error("cannot set the mode of " + wanted, errno);
  if (listen(fd->get(), options.backlog) < 0) return cannot_bind(wanted, std::strerror(errno), errno);
  ListeningSocket opened(std::move(*fd), wanted, ListenerFamily::unix_path);
  opened.file_ = std::move(*file);
  return opened;
}

Result<ListeningSocket> ListeningSocket::adopt(int fd, const std::string& what) {
  if (auto stream = demand(fd, SO_TYPE, SOCK_STREAM, what, " is no stream socket"); !stream) return stream.error();
  if (auto listens = demand(fd, SO_ACCEPTCONN, 1, what, " does not listen: call listen() before starting moult");
      !listens) {
    return listens.error();
  }
  auto named = name_of(fd, what);
  if (!named) return named.error();
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) {
    return errno_error("cannot set the flags of " + what, errno);
  }
  ListeningSocket adopted(UniqueFd(fd), named->first, named->second);
  adopted.ours_ = false;
  return adopted;
}

void ListeningSocket::shut() {
  if (!ours_) return;
  file_.reset();
  if (family_ != ListenerFamily::unix_path) drop_newcomers(fd_.get());
}
}  // namespace moult
