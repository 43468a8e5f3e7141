#pragma once
// The terminal behind stdout, for the commands that print to people.
#include <cstddef>
namespace moult {
// In letters; zero where stdout is no terminal.
std::size_t terminal_width();
std::size_t terminal_height();
}  // namespace moult
