#include "worker/message.h"

#include <algorithm>
namespace moult {
namespace {
bool is_key(std::string_view key) {
  const auto allowed = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
  return !key.empty() && key.size() <= max_key_bytes && std::all_of(key.begin(), key.end(), allowed);
}

// Bad bytes are never put into an error: it goes to a person's terminal.
Error refused(std::size_t line_number, const char* what) {
  return {"bad message: line " + std::to_string(line_number) + " " + what};
}

std::string escaped(char c) {
  switch (c) {
    case '\n': return "\\n";
    case '\\': return "\\\\";
    case '\0': return "\\0";
    default: return {c};
  }
}
}  // namespace

Message& Message::add(std::string_view key, std::string_view value) {
  lines_.emplace_back(key, value);
  return *this;
}

Message& Message::add(std::string_view key, std::uint64_t value) { return add(key, std::to_string(value)); }

std::optional<std::string_view> Message::find(std::string_view key) const {
  for (const auto& [name, value] : lines_)
    if (name == key) return value;
  return std::nullopt;
}

Result<Message> parse(std::string_view datagram) {
  if (datagram.size() > max_message_bytes) return Error{"bad message: longer than 64 KiB"};
  if (datagram.find('\0') != datagram.npos) return Error{"bad message: it has a NUL byte"};
  Message message;
  std::size_t line_number = 0;
  while (!datagram.empty()) {
    if (++line_number > max_message_lines) return Error{"bad message: more than 64 lines"};
    const std::size_t end = std::min(datagram.find('\n'), datagram.size());
    const std::string_view line = datagram.substr(0, end);
    datagram.remove_prefix(std::min(end + 1, datagram.size()));
    if (line.empty()) continue;
    const std::size_t equals = line.find('=');
    if (equals == line.npos) return refused(line_number, "has no '='");
    if (!is_key(line.substr(0, equals))) return refused(line_number, "has no key of 1 to 64 of A-Z, 0-9 and _");
    message.add(line.substr(0, equals), line.substr(equals + 1));
  }
  if (message.lines().empty()) return Error{"bad message: it is empty"};
  return message;
}

Result<std::string> serialise(const Message& message) {
  std::string datagram;
  for (std::size_t i = 0; i < message.lines().size(); ++i) {
    const auto& [key, value] = message.lines()[i];
    if (value.find('\n') != value.npos) return refused(i + 1, "has a newline in its value");
    if (i > 0) datagram += '\n';
    datagram += key + '=' + value;
  }
  const auto understood = parse(datagram);
  if (!understood) return understood.error();
  return datagram;
}

std::string escape(std::string_view text) {
  std::size_t length = 0, first = text.size();
  while (first > 0) {
    const std::size_t more = escaped(text[first - 1]).size();
    if (length + more > max_escaped_bytes) break;
    length += more;
    --first;
  }
  std::string value;
  value.reserve(length);
  for (const char c : text.substr(first)) value += escaped(c);
  return value;
}

std::string unescape(std::string_view value) {
  std::string text;
  text.reserve(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char next = value[i] == '\\' && i + 1 < value.size() ? value[i + 1] : '\0';
    const bool known = next == 'n' || next == '\\' || next == '0';
    if (known) ++i;
    text += !known ? value[i] : next == 'n' ? '\n' : next == '0' ? '\0' : '\\';
  }
  return text;
}

std::string one_line(std::string_view text) {
  std::string line(text.substr(0, max_escaped_bytes));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\0'; }, ' ');
  return line;
}
}  // namespace moult
