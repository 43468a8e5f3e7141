#pragma once
// By which number the kernel's list of sockets (socket_diagnosis.h) knows one that we hold.
#include <sys/stat.h>

#include <cstdint>
namespace moult {
inline std::uint64_t socket_inode(int fd) {
  struct stat known {};
  return ::fstat(fd, &known) == 0 ? known.st_ino : 0;
}
}  // namespace moult
