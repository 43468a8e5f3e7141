#pragma once
// Owner of the control socket's place in the file system: takes it, listens, and gives it back at the end.
// Called at start by ControlServer, before the loop runs; no libuv here.
//
// Two masters that start at once must not both replace a stale socket: all of open() happens under a lock (flock) on
// the folder, which leaves no file behind. The socket has mode 0600 from birth: on Linux bind(2) gives the file the
// mode that the socket itself has, so fchmod(2) before bind(2) does it, without touching the umask of other threads.
#include <sys/types.h>

#include <chrono>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
namespace moult {
// Connections that wait to be accepted; above it a client is told to try again by the kernel (EAGAIN).
inline constexpr int control_backlog = 128;
// How long open() waits for another master that is in the same few lines. It needs microseconds.
inline constexpr std::chrono::milliseconds control_lock_patience{500};

class ControlSocket {
 public:
  // Makes the folder (its last part only) with 0700 if it is missing. Refuses a folder that belongs to somebody else
  // (neither our user nor root), a path where anything but a dead unix socket is, and one where somebody answers.
  static Result<ControlSocket> open(const std::string& path);
  ControlSocket(ControlSocket&&) noexcept;
  ControlSocket& operator=(ControlSocket&&) = delete;
  ~ControlSocket() { give_back(); }

  // Removes the path if it is still ours, by inode. To be called while the socket is open: so long the kernel does not
  // use our inode's number again, and a rival finds us alive instead of replacing us.
  void give_back();

  const std::string& path() const { return path_; }
  UniqueFd take_listening() { return std::move(listening_); }  // non-blocking; once

 private:
  ControlSocket() = default;

  std::string path_;
  UniqueFd listening_;
  dev_t device_ = 0;
  ino_t inode_ = 0;  // zero: nothing to give back
};
}  // namespace moult
