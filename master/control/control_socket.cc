#include "master/control/control_socket.h"
#include "base/control_path.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

namespace moult {
namespace {
std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());  // its length was checked; the rest is zero
  return address;
}

int connect_to(int fd, const std::string& path) {
  const sockaddr_un address = address_of(path);
  return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
}

Result<UniqueFd> locked_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return errno_error("cannot make the folder of the control socket, " + folder, errno);
  UniqueFd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return errno_error("cannot open the folder of the control socket, " + folder, errno);
  struct stat seen {};
  if (::fstat(opened.get(), &seen) != 0) return errno_error("cannot look at " + folder, errno);
  if (seen.st_uid != ::geteuid() && seen.st_uid != 0)
    return Error{"the folder of the control socket, " + folder + ", belongs to uid " + std::to_string(seen.st_uid) +
                 ": choose another place with --control"};
  const auto end = std::chrono::steady_clock::now() + control_lock_patience;
  while (::flock(opened.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return errno_error("cannot lock " + folder, errno);
    if (std::chrono::steady_clock::now() >= end)
      return Error{"another process holds a lock on " + folder + ": choose another place with --control"};
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return opened;
}

// Whatever is at the path: gone afterwards, or the reason why it must stay.
Result<void> clear_place(const std::string& path) {
  struct stat seen {};
  if (::lstat(path.c_str(), &seen) != 0)
    return errno == ENOENT ? Result<void>() : errno_error("cannot look at " + path, errno);
  if (!S_ISSOCK(seen.st_mode))
    return Error{path + " is there and is no socket: remove it, or choose another --control"};
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!probe) return errno_error("cannot make a socket", errno);
  switch (const int error = connect_to(probe.get(), path); error) {
    case ECONNREFUSED: break;  // a dead one
    case ENOENT: return {};
    case 0:
    case EAGAIN:  // its backlog is full: alive
      return Error{"another moult answers at " + path + ": stop it, or choose another -n NAME or --control PATH"};
    default: return errno_error("cannot tell whether somebody uses " + path, error);
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return errno_error("cannot replace the stale " + path, errno);
  return {};
}
}  // namespace

Result<ControlSocket> ControlSocket::open(const std::string& path) {
  if (const auto checked = checked_control_path(path); !checked) return checked.error();
  const auto lock = locked_folder(folder_of(path));
  if (!lock) return lock.error();
  if (const auto cleared = clear_place(path); !cleared) return cleared.error();
  ControlSocket made;
  made.listening_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!made.listening_) return errno_error("cannot make the control socket", errno);
  if (::fchmod(made.listening_.get(), 0600) != 0)
    return errno_error("cannot set the mode of the control socket", errno);
  const sockaddr_un address = address_of(path);
  if (::bind(made.listening_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return errno_error("cannot bind the control socket " + path, errno);
  made.path_ = path;
  struct stat born {};
  if (::lstat(path.c_str(), &born) != 0) return errno_error("cannot look at " + path, errno);
  made.device_ = born.st_dev;
  made.inode_ = born.st_ino;
  if (::listen(made.listening_.get(), control_backlog) != 0) return errno_error("cannot listen at " + path, errno);
  return made;
}

ControlSocket::ControlSocket(ControlSocket&& other) noexcept
    : path_(std::move(other.path_)),
      listening_(std::move(other.listening_)),
      device_(other.device_),
      inode_(std::exchange(other.inode_, 0)) {}

void ControlSocket::give_back() {
  const ino_t ours = std::exchange(inode_, 0);
  struct stat seen {};
  if (ours == 0 || ::lstat(path_.c_str(), &seen) != 0) return;
  if (seen.st_dev == device_ && seen.st_ino == ours) ::unlink(path_.c_str());
}
}  // namespace moult
