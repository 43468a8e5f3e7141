#pragma once
// The file of a unix socket: who may make it, and who may take it away.
//
// A path belongs to whoever answers on it. A socket file that nobody answers on was left by a killed process and is
// replaced; a live one is refused, and so is anything that is not a socket. At the end we unlink the path only if the
// inode is still ours. Looking, replacing and listening is one step between masters: it is done under flock() of the
// *folder*, so there is no lock file to leave behind. The lock is held for milliseconds.
#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
namespace moult {
// Holds the lock of the folder in which `path` lies. Move-only.
class FolderLock {
 public:
  static Result<FolderLock> of(const std::string& path);  // waits at most folder_lock_patience

 private:
  explicit FolderLock(UniqueFd folder) : folder_(std::move(folder)) {}
  UniqueFd folder_;  // closing it gives the lock back
};

// With the folder locked: makes the path free to bind, or says why it is not ours to take.
Result<void> clear_socket_path(const std::string& path);

class SocketFile {
 public:
  // The file that bind() has just made. The path is made absolute: the working directory may change.
  static Result<SocketFile> just_bound(const std::string& path);
  SocketFile(SocketFile&&) noexcept;
  SocketFile& operator=(SocketFile&&) noexcept;
  ~SocketFile();  // unlinks the path if the inode is still ours

 private:
  SocketFile(std::string path, dev_t device, ino_t inode) : path_(std::move(path)), device_(device), inode_(inode) {}
  void remove();
  std::string path_;  // empty: moved from
  dev_t device_;
  ino_t inode_;
};
}  // namespace moult
