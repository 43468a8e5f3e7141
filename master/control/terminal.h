#pragma once
// What is behind stdout, for the commands that print to people.
#include <cstddef>
namespace moult {
// In letters; zero where stdout is no terminal.
std::size_t terminal_width();
std::size_t terminal_height();
// False: it is a pipe, and its reader is gone. Who waits for something to print need wait no longer.
bool stdout_is_read();
}  // namespace moult
