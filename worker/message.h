#pragma once
// One datagram of the contract: KEY=VALUE lines, in order, as sd_notify has them. One parser for the channel and for
// NOTIFY_SOCKET. Used by master, fork server and worker.
//
//   datagram = line *("\n" line) ["\n"]      line = key "=" value | ""
//   key      = 1 to 64 of [A-Z0-9_]          value = any bytes but newline and NUL, may be empty
//
// Empty lines are skipped, as systemd does. Of two lines with one key the first counts. Unknown keys are kept, and a
// reader ignores them: sd_notify programs send keys that are none of ours.
// Refused, with a sentence that says what and which line: a datagram that is empty or longer than 64 KiB, or has more
// than 64 lines; a line without "="; a key that is no key; a NUL byte. What was built is held to the same rules.
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
namespace moult {
// Well below a socket's default send buffer (208 KiB), far above the longest traceback that anybody reads.
inline constexpr std::size_t max_message_bytes = 64 * 1024;
inline constexpr std::size_t max_message_lines = 64;
inline constexpr std::size_t max_key_bytes = 64;
// So that an escaped text always leaves room for the other lines of its datagram.
inline constexpr std::size_t max_escaped_bytes = 32 * 1024;

class Message {
 public:
  using Line = std::pair<std::string, std::string>;
  Message() = default;
  Message(std::initializer_list<Line> lines) : lines_(lines) {}

  Message& add(std::string_view key, std::string_view value);
  Message& add(std::string_view key, std::uint64_t value);

  bool has(std::string_view key) const { return find(key).has_value(); }
  std::optional<std::string_view> find(std::string_view key) const;  // valid as long as the message
  // The whole value as a decimal number that fits T; nothing if the key is missing or the value is anything else.
  template <std::integral T>
  std::optional<T> find_number(std::string_view key) const {
    const auto value = find(key);
    T number{};
    if (!value) return std::nullopt;
    const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), number);
    if (error != std::errc() || end != value->data() + value->size()) return std::nullopt;
    return number;
  }
  const std::vector<Line>& lines() const { return lines_; }
  bool operator==(const Message&) const = default;

 private:
  std::vector<Line> lines_;
};

Result<Message> parse(std::string_view datagram);
// Refuses what parse() would refuse: a value with a newline would be a line of its own at the other end.
Result<std::string> serialise(const Message&);

// For values that may have several lines (ERROR=, WARNING=): newline as \n, backslash as \\, NUL as \0. A text that
// would be longer than max_escaped_bytes loses its beginning: the end of a traceback says most.
std::string escape(std::string_view text);
// The reverse. A backslash before anything else stays as it is.
std::string unescape(std::string_view value);
// For values of one line (STATUS=): newline and NUL become spaces, cut at max_escaped_bytes.
std::string one_line(std::string_view text);
}  // namespace moult
