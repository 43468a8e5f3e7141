#pragma once
// A user's text inside an error: in quotes, cut when it is long, and without anything that could steer a terminal.
// Pure.
#include <string>
#include <string_view>
namespace moult {
inline constexpr std::size_t longest_in_quotes = 80;  // letters; enough to recognise it

inline std::string in_quotes(std::string_view text) {
  std::string shown = "'";
  for (const char c : text.substr(0, longest_in_quotes))
    shown += static_cast<unsigned char>(c) < ' ' || c == 0x7f ? '?' : c;
  return shown + (text.size() > longest_in_quotes ? "...'" : "'");
}
}  // namespace moult
