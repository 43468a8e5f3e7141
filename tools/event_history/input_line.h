#pragma once
// One line of a file, as line_reader.h gives it.
#include <cstddef>
#include <string_view>
namespace moult {
inline constexpr std::size_t longest_line = 1 << 20;  // bytes; an event of moult is a few kB

struct InputLine {
  std::size_t number;     // from 1
  std::string_view text;  // without its end; valid during the call
  bool too_long;          // then `text` is empty
};
}  // namespace moult
