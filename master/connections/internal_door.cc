#include "master/connections/internal_door.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
namespace moult {
namespace {
constexpr int backlog = 64;  // the master is the only caller, and has few calls in flight

// A folder of our own for the time of opening. Move-less: it lives in one function.
class PrivateFolder {
 public:
  explicit PrivateFolder(const std::string& parent) : path_(parent + "/moult-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) failed_ = errno;
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  ~PrivateFolder() {
    if (failed_ != 0) return;
    unlink(socket().c_str());
    rmdir(path_.c_str());
  }
  int failed() const { return failed_; }
  std::string socket() const { return path_ + "/d"; }

 private:
  std::string path_;
  int failed_ = 0;
};

int open_in(const std::string& parent, UniqueFd& listener, UniqueFd& file) {
  const PrivateFolder folder(parent);
  if (folder.failed() != 0) return folder.failed();
  const std::string path = folder.socket();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return ENAMETOOLONG;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  listener.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener || fchmod(listener.get(), S_IRUSR | S_IWUSR) < 0) return errno;
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0) return errno;
  file.reset(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!file || listen(listener.get(), backlog) < 0) return errno;
  return 0;
}
}  // namespace

Result<InternalDoor> InternalDoor::open(const std::string& folder) {
  UniqueFd listener, file;
  int failed = ENOENT;
  for (const std::string& parent : {folder, std::string("/dev/shm"), std::string("/tmp")}) {
    failed = open_in(parent, listener, file);
    if (failed == 0) return InternalDoor(std::move(listener), std::move(file));
  }
  return errno_error("cannot make a private folder in " + folder + ", /dev/shm or /tmp for the internal door", failed);
}

std::string InternalDoor::path() const { return "/proc/self/fd/" + std::to_string(file_.get()); }
}  // namespace moult
