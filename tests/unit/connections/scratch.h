#pragma once
// A folder of the test's own, gone when the test is, and the few socket calls that the tests share.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/unique_fd.h"
namespace moult {
class Scratch {
 public:
  Scratch() {
    std::string pattern = ::testing::TempDir() + "moult-connections-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  bool empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::string path_;
};

inline sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  return address;
}

// Zero, or the errno of connect().
inline int call_unix(const std::string& path) {
  const UniqueFd caller(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = unix_address(path);
  return connect(caller.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
}

// Likewise; EINPROGRESS: no answer for so long (zero: as long as it takes).
inline int call_tcp(std::uint16_t port, std::chrono::milliseconds patience = {}) {
  const UniqueFd caller(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval wait{patience.count() / 1000, patience.count() % 1000 * 1000};
  setsockopt(caller.get(), SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(caller.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
}

// A unix socket bound to the path, which listens if it is told to.
inline UniqueFd bound_unix(const std::string& path, int type = SOCK_STREAM, int backlog = 8) {
  UniqueFd fd(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  const sockaddr_un address = unix_address(path);
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << std::strerror(errno);
  if (type == SOCK_STREAM && backlog >= 0) { EXPECT_EQ(listen(fd.get(), backlog), 0); }
  return fd;
}

inline mode_t mode_of(const std::string& path) {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0 ? found.st_mode & 07777 : 0;
}

inline std::uint16_t port_of(const std::string& address) {
  return static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}
}  // namespace moult
