#include "master/connections/socket_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>

#include "master/connections/process_name.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
// Other masters hold the lock for milliseconds; who holds it longer is a program that we know nothing of.
constexpr auto folder_lock_patience = 5s;
constexpr auto folder_lock_pause = 10ms;

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Errno of a connect() to the path; zero: somebody answered, and `peer` is who listens there.
int knock(const std::string& path, pid_t& peer) {
  const UniqueFd caller(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!caller) return errno;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (connect(caller.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0) return errno;
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(caller.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) peer = credentials.pid;
  return 0;
}
}  // namespace

Result<FolderLock> FolderLock::of(const std::string& path) {
  const std::string folder = folder_of(path);
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return errno_error("cannot open the folder " + folder, errno);
  const auto end = std::chrono::steady_clock::now() + folder_lock_patience;
  while (flock(fd.get(), LOCK_EX | LOCK_NB) < 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return errno_error("cannot lock the folder " + folder, errno);
    if (std::chrono::steady_clock::now() >= end) {
      return Error{"cannot lock the folder " + folder + ": another program has held its lock for 5 seconds", ETIMEDOUT};
    }
    std::this_thread::sleep_for(folder_lock_pause);
  }
  return FolderLock(std::move(fd));
}

Result<void> clear_socket_path(const std::string& path) {
  struct stat found {};
  if (lstat(path.c_str(), &found) < 0) {
    if (errno == ENOENT) return {};
    return errno_error("cannot look at it", errno);
  }
  if (!S_ISSOCK(found.st_mode)) return Error{"there is a file of that name, and it is no socket", EEXIST};
  pid_t peer = 0;
  const int answer = knock(path, peer);
  if (answer == ENOENT) return {};
  if (answer == 0 || answer == EAGAIN) {  // EAGAIN: alive, with a full backlog
    return Error{(peer > 0 ? process_name(peer) : std::string("another program")) +
                     " answers there; stop it, or choose another path with -b",
                 EADDRINUSE};
  }
  // EPROTOTYPE: a datagram socket lives there. EACCES: we may not ask. Neither is known to be dead.
  if (answer != ECONNREFUSED) return errno_error("cannot see whether somebody answers there", answer);
  if (unlink(path.c_str()) < 0) return errno_error("cannot replace the socket that nobody answers on", errno);
  return {};
}

Result<SocketFile> SocketFile::just_bound(const std::string& path) {
  std::error_code failed;
  const auto absolute = std::filesystem::absolute(path, failed);
  struct stat made {};
  if (failed || lstat(path.c_str(), &made) < 0)
    return errno_error("cannot look at " + path, failed ? failed.value() : errno);
  return SocketFile(absolute.string(), made.st_dev, made.st_ino);
}

SocketFile::SocketFile(SocketFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), device_(other.device_), inode_(other.inode_) {}

SocketFile& SocketFile::operator=(SocketFile&& other) noexcept {
  if (this != &other) {
    remove();
    path_ = std::exchange(other.path_, {});
    device_ = other.device_;
    inode_ = other.inode_;
  }
  return *this;
}

SocketFile::~SocketFile() { remove(); }

void SocketFile::remove() {
  if (path_.empty()) return;
  const auto lock = FolderLock::of(path_);  // without it (the folder is gone, say) we still look before we unlink
  struct stat now {};
  if (lstat(path_.c_str(), &now) == 0 && now.st_dev == device_ && now.st_ino == inode_) unlink(path_.c_str());
  path_.clear();
}
}  // namespace moult
