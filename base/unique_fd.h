#pragma once
// Owner of one file descriptor: closes it when it goes, moves only.
#include <unistd.h>

#include <utility>
namespace moult {
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);  // on Linux the descriptor is gone even after EINTR: never retried
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};
}  // namespace moult
