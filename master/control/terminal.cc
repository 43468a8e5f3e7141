#include "master/control/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>
namespace moult {
namespace {
winsize terminal_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return size;
}
}  // namespace

std::size_t terminal_width() { return terminal_size().ws_col; }
std::size_t terminal_height() { return terminal_size().ws_row; }

bool stdout_is_read() {
  pollfd out{STDOUT_FILENO, 0, 0};
  return ::poll(&out, 1, 0) <= 0 || (out.revents & POLLERR) == 0;
}
}  // namespace moult
