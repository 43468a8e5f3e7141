#include "recycler/kernel_text.h"

#include <algorithm>
#include <charconv>
#include <system_error>
namespace moult {
namespace {
constexpr std::string_view white = " \t\r\n";
}

std::optional<std::uint64_t> to_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error != std::errc{} || rest.find_first_not_of(white) != rest.npos) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> number_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.starts_with(key) || line.size() == key.size()) continue;
    std::string_view value = line.substr(key.size());
    if (key.back() != ':' && white.find(value.front()) == white.npos) continue;  // a longer key
    value.remove_prefix(std::min(value.find_first_not_of(white), value.size()));
    return to_number(value.substr(0, value.find_first_of(white)));
  }
  return std::nullopt;
}
}  // namespace moult
