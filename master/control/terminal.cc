#include "master/control/terminal.h"

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
}  // namespace moult
