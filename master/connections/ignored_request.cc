#include "master/connections/ignored_request.h"

#include <algorithm>
#include <array>
#include <optional>
namespace moult {
namespace {
using View = std::string_view;
constexpr View line_end = "\r\n", head_end = "\r\n\r\n";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool equals_ignoring_case(View a, View b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}
View trimmed(View text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Of the request line: as much of it as is there agrees with METHOD SP PATH.
bool may_become(View said, View method, View path) {
  std::string start(method);
  start += ' ';
  start += path;
  const std::size_t compared = std::min(said.size(), start.size());
  if (said.substr(0, compared) != View(start).substr(0, compared)) return false;
  return said.size() <= start.size() || said[start.size()] == ' ' || said[start.size()] == '?';
}

struct RequestLine {
  bool is_head = false;
  bool is_http_10 = false;
};
std::optional<RequestLine> read_line(View line, View method) {
  line.remove_prefix(method.size() + 1);
  const auto blank = line.find(' ');
  if (blank == View::npos) return std::nullopt;
  const View version = line.substr(blank + 1);
  const bool is_plain = std::ranges::all_of(line.substr(0, blank), [](char c) { return c > ' ' && c <= '~'; });
  if (!is_plain || (version != "HTTP/1.1" && version != "HTTP/1.0")) return std::nullopt;
  return RequestLine{method == "HEAD", version == "HTTP/1.0"};
}

// What the header lines say of the connection; none: it is no plain request without a body.
struct Fields {
  bool close = false, keep_alive = false;
};
bool take_options(Fields& fields, View list) {
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    const View option = trimmed(list.substr(0, comma));
    if (equals_ignoring_case(option, "close")) fields.close = true;
    else if (equals_ignoring_case(option, "keep-alive")) fields.keep_alive = true;
    else if (equals_ignoring_case(option, "upgrade")) return false;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return true;
}
bool is_name(View name) {
  constexpr View letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
      "!#$%&'*+-.^_`|~";
  return !name.empty() && name.find_first_not_of(letters) == View::npos;
}
bool take_field(Fields& fields, View line) {
  constexpr std::array<View, 4> not_ours{"transfer-encoding", "upgrade", "expect", "trailer"};
  const auto colon = line.find(':');
  if (colon == View::npos || !is_name(line.substr(0, colon))) return false;
  const View name = line.substr(0, colon), value = trimmed(line.substr(colon + 1));
  if (std::ranges::any_of(value, [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == '\x7f'; })) return false;
  if (std::ranges::any_of(not_ours, [&](View each) { return equals_ignoring_case(name, each); })) return false;
  if (equals_ignoring_case(name, "content-length")) return value == "0";
  if (equals_ignoring_case(name, "connection")) return take_options(fields, value);
  return true;
}
std::optional<Fields> read_fields(View lines) {
  Fields fields;
  while (!lines.empty()) {
    const auto end = lines.find(line_end);
    if (!take_field(fields, lines.substr(0, end))) return std::nullopt;
    lines.remove_prefix(end + line_end.size());
  }
  return fields;
}

std::optional<View> method_of(View said, const std::vector<std::string>& paths) {
  for (const View method : {View("GET"), View("HEAD")})
    for (const std::string& path : paths)
      if (may_become(said, method, path)) return method;
  return std::nullopt;
}
}  // namespace

HeardRequest read_ignored_request(View said, const std::vector<std::string>& paths) {
  const auto method = method_of(said, paths);
  if (!method) return CallersRequest{};
  const auto end = said.find(head_end);
  if (end == View::npos || end + head_end.size() > most_ignored_head_bytes)
    return said.size() < most_ignored_head_bytes ? HeardRequest(PartOfARequest{}) : HeardRequest(CallersRequest{});
  const View head = said.substr(0, end + line_end.size());
  const auto first_end = head.find(line_end);
  const auto line = read_line(head.substr(0, first_end), *method);
  const auto fields = line ? read_fields(head.substr(first_end + line_end.size())) : std::nullopt;
  if (!fields) return CallersRequest{};
  const bool keeps_alive = !fields->close && (!line->is_http_10 || fields->keep_alive);
  return IgnoredRequest{end + head_end.size(), line->is_head, keeps_alive};
}

std::string answer_to(const IgnoredRequest& request) {
  std::string answer =
      "HTTP/1.1 200 OK\r\n"
      "Content-Type: text/plain; charset=utf-8\r\n"
      "Content-Length: 3\r\n"
      "Cache-Control: no-store\r\n";
  answer += request.keeps_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  if (!request.is_head) answer += "ok\n";
  return answer;
}
}  // namespace moult
