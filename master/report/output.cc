#include "master/report/output.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
namespace moult {
namespace {
constexpr int lowest_duplicate = 3;  // 0 to 2 stay what the world expects them to be

// O_NONBLOCK is for a FIFO that nobody reads: open() then fails at once. This description is ours alone.
Result<UniqueFd> open_to_append(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640));
  if (!fd) return errno_error("cannot open " + path + " for writing", errno);
  return fd;
}
}  // namespace

Output Output::duplicate_of(int fd) {
  return Output(UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, lowest_duplicate)), "descriptor " + std::to_string(fd), "");
}

Result<Output> Output::file(const std::string& as_named) {
  std::error_code nowhere;  // absolute, since the working directory may be another when it is reopened
  const std::string path = std::filesystem::absolute(as_named, nowhere).string();
  auto fd = open_to_append(path);
  if (!fd) return fd.error();
  return Output(std::move(*fd), path, path);
}

Result<void> Output::reopen() {
  if (path_.empty()) return {};
  auto fd = open_to_append(path_);
  if (!fd) return fd.error();
  fd_ = std::move(*fd);
  return {};
}

bool Output::is_deleted() const {
  struct stat file;
  return !path_.empty() && ::fstat(fd_.get(), &file) == 0 && file.st_nlink == 0;
}

Result<std::size_t> Output::write_some(std::string_view data) {
  const ssize_t written = ::write(fd_.get(), data.data(), std::min<std::size_t>(data.size(), PIPE_BUF));
  if (written >= 0) return static_cast<std::size_t>(written);
  if (errno == EAGAIN || errno == EINTR) return std::size_t{0};
  return errno_error("cannot write to " + name_, errno);
}
}  // namespace moult
