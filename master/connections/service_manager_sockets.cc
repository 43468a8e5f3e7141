#include "master/connections/service_manager_sockets.h"

#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
namespace moult {
namespace {
std::string take_variable(const char* variable) {
  const char* value = std::getenv(variable);
  std::string taken = value == nullptr ? "" : value;
  unsetenv(variable);
  return taken;
}
}  // namespace

Result<std::vector<ListeningSocket>> take_service_manager_sockets() {
  const std::string for_pid = take_variable("LISTEN_PID");
  const std::string count_text = take_variable("LISTEN_FDS");
  std::istringstream names(take_variable("LISTEN_FDNAMES"));
  std::vector<ListeningSocket> sockets;
  if (for_pid != std::to_string(getpid())) return sockets;
  const auto count = bind_address::number<unsigned>(count_text);
  if (!count || *count > passed_fds_most) {
    return Error{"LISTEN_FDS is '" + count_text + "': moult takes 0 to " + std::to_string(passed_fds_most) +
                 " sockets"};
  }
  for (unsigned i = 0; i < *count; ++i) {
    const int fd = first_passed_fd + static_cast<int>(i);
    std::string name;
    std::getline(names, name, ':');
    auto socket = ListeningSocket::adopt(
        fd, "the socket " + (name.empty() ? "" : "'" + name + "' ") + "passed as descriptor " + std::to_string(fd));
    if (!socket) return socket.error();
    sockets.push_back(std::move(*socket));
  }
  return sockets;
}
}  // namespace moult
