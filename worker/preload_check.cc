#include "worker/preload_check.h"

#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>
namespace moult {
namespace {
std::vector<int> numbers_in(const char* folder) {
  std::vector<int> numbers;
  std::error_code problem;  // a /proc that cannot be read costs the warning, not the app
  for (const auto& entry : std::filesystem::directory_iterator(folder, problem)) {
    const std::string name = entry.path().filename();
    int number = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), number).ec == std::errc()) numbers.push_back(number);
  }
  return numbers;
}

std::string thread_names() {
  std::string names;
  for (const int thread : numbers_in("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream("/proc/self/task/" + std::to_string(thread) + "/comm"), name);
    if (thread != ::getpid()) names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

std::string connected_sockets(int own_socket) {
  std::string fds;
  for (const int fd : numbers_in("/proc/self/fd")) {
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    if (fd != own_socket && ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) == 0)
      fds += (fds.empty() ? "" : ", ") + std::to_string(fd);
  }
  return fds;
}
}  // namespace

std::string unforkable(int own_socket) {
  std::string warning;
  if (const std::string names = thread_names(); !names.empty())
    warning += "the app has started threads while it was loaded (" + names + "): no worker has them; start them in " +
               "moult_worker_main";
  if (const std::string fds = connected_sockets(own_socket); !fds.empty())
    warning += (warning.empty() ? "" : "\n") + ("the app has connected sockets after it was loaded (fd " + fds) +
               "): all workers would speak on them at once; connect in moult_worker_main";
  return warning;
}
}  // namespace moult
