#pragma once
// A network namespace of the test's own, whose line can be cut, and a thread that has fewer rights than the test.
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "base/unique_fd.h"
namespace moult {
// Runs `test` in a thread of its own with a network of its own; says why it could not.
inline std::string in_own_network(const std::function<void()>& test) {
  std::string why;
  std::thread([&] {
    if (::unshare(CLONE_NEWNET) != 0)
      why = std::string("cannot make a network namespace: ") + std::strerror(errno) + " (it needs root)";
    else test();
  }).join();
  return why;
}

inline void set_loopback(bool up) {
  const UniqueFd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  ASSERT_EQ(::ioctl(any.get(), SIOCGIFFLAGS, &request), 0);
  request.ifr_flags = static_cast<short>(up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
  ASSERT_EQ(::ioctl(any.get(), SIOCSIFFLAGS, &request), 0) << std::strerror(errno);
}

// The call of glibc would change the whole process.
inline void as_nobody(const std::function<void()>& test) {
  std::thread([&] {
    if (::geteuid() == 0) { ASSERT_EQ(::syscall(SYS_setresuid, 65534, 65534, 65534), 0); }
    test();
  }).join();
  ::prctl(PR_SET_DUMPABLE, 1);  // the kernel takes that from a process whose threads change user
}
}  // namespace moult
