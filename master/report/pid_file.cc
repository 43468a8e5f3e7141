#include "master/report/pid_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/unique_fd.h"
namespace moult {
namespace {
// The pid in it; none: no such file, or it holds something else.
std::optional<pid_t> pid_in(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  char text[32] = "";
  if (!fd || ::read(fd.get(), text, sizeof text - 1) <= 0) return std::nullopt;
  char* end = nullptr;
  const long pid = std::strtol(text, &end, 10);
  const bool is_whole = end != text && (*end == '\0' || *end == '\n');
  if (!is_whole || pid <= 0 || pid > 0x7fffffff) return std::nullopt;
  return static_cast<pid_t>(pid);
}

bool lives(pid_t pid) { return ::kill(pid, 0) == 0 || errno == EPERM; }

Result<void> write_whole(int fd, std::string_view text, const std::string& path) {
  if (::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size())) return {};
  return errno_error("cannot write the pid file " + path, errno);
}
}  // namespace

Result<PidFile> PidFile::create(const std::string& as_named) {
  std::error_code nowhere;  // absolute, since the working directory may be another when it is removed
  const std::string path = std::filesystem::absolute(as_named, nowhere).string();
  const auto owner = pid_in(path);
  if (owner && *owner != getpid() && lives(*owner))
    return Error{"the pid file " + path + " belongs to process " + std::to_string(*owner) +
                 ", which is alive: stop it, or remove the file if it is something else"};
  std::string temporary = path + ".XXXXXX";
  const UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) return errno_error("cannot create the pid file " + path, errno);
  auto written = write_whole(fd.get(), std::to_string(getpid()) + "\n", path);
  if (written && ::fchmod(fd.get(), 0644) != 0) written = errno_error("cannot chmod the pid file " + path, errno);
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0)
    written = errno_error("cannot create the pid file " + path, errno);
  if (written) return PidFile(path);
  ::unlink(temporary.c_str());
  return written.error();
}

PidFile::PidFile(PidFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}

PidFile& PidFile::operator=(PidFile&& other) noexcept {
  if (this == &other) return *this;
  remove();
  path_ = std::exchange(other.path_, {});
  return *this;
}

PidFile::~PidFile() { remove(); }

void PidFile::remove() {
  if (!path_.empty() && pid_in(path_) == getpid()) ::unlink(path_.c_str());
}
}  // namespace moult
