#pragma once
// The two pidfd calls. glibc 2.36 has them, but its <sys/pidfd.h> forgets that C++ includes it.
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace moult {
inline int open_pidfd(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }  // CLOEXEC; -1: errno
inline int signal_pidfd(int pidfd, int signal_number) {
  return static_cast<int>(::syscall(SYS_pidfd_send_signal, pidfd, signal_number, nullptr, 0));
}
}  // namespace moult
