#pragma once
// Sentences in lines that fit a terminal. Pure.
#include <string>
#include <string_view>
namespace moult {
// Each line begins with so many blanks, and has at most 100 columns where its words let it.
inline std::string wrapped(std::string_view text, std::size_t indent) {
  constexpr std::size_t columns = 100;
  std::string lines;
  while (!text.empty()) {
    auto end = text.size();
    if (end > columns - indent) end = text.rfind(' ', columns - indent);
    if (end == text.npos) end = text.find(' ');
    lines += std::string(indent, ' ') + std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(end == text.npos ? text.size() : end);
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  return lines;
}
}  // namespace moult
