#include "http.h"

#include <strings.h>

#include <algorithm>
#include <charconv>
namespace example {
namespace {
bool same_word(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string_view take_until(std::string_view& text, std::string_view separator) {
  const auto end = std::min(text.find(separator), text.size());
  const auto taken = text.substr(0, end);
  text.remove_prefix(std::min(end + separator.size(), text.size()));
  return taken;
}

struct Head {
  HttpRequest request;
  std::size_t body_bytes = 0;
  int problem = 0;  // a status, or zero
};

void read_field(Head& head, std::string_view name, std::string_view value) {
  if (same_word(name, "connection")) {
    if (same_word(value, "close")) head.request.keep_alive = false;
    if (same_word(value, "keep-alive")) head.request.keep_alive = true;
  } else if (same_word(name, "transfer-encoding")) {
    head.problem = 501;
  } else if (same_word(name, "content-length")) {
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), head.body_bytes);
    if (error != std::errc() || end != value.data() + value.size()) head.problem = 400;
    if (head.body_bytes > max_body_bytes) head.problem = 413;
  }
}

Head read_head(std::string_view text) {
  Head head;
  std::string_view first = take_until(text, "\r\n");
  head.request.method = take_until(first, " ");
  head.request.path = take_until(first, " ");
  if (first != "HTTP/1.1" && first != "HTTP/1.0") head.problem = 400;
  head.request.keep_alive = first == "HTTP/1.1";
  while (!text.empty()) {
    std::string_view line = take_until(text, "\r\n");
    const std::string_view name = take_until(line, ":");
    read_field(head, name, trimmed(line));
  }
  return head;
}

const char* reason(int status) {
  switch (status) {
    case 200: return "OK";
    case 404: return "Not Found";
    case 413: return "Content Too Large";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    default: return "Bad Request";
  }
}
}  // namespace

std::variant<HttpRequest, Incomplete, BadRequest> take_request(std::string& bytes) {
  const auto end = bytes.find("\r\n\r\n");
  if (std::min(end, bytes.size()) > max_head_bytes) return BadRequest{431};
  if (end == bytes.npos) return Incomplete{};
  Head head = read_head(std::string_view(bytes).substr(0, end));
  if (head.problem != 0) return BadRequest{head.problem};
  const std::size_t head_bytes = end + 4;
  if (bytes.size() < head_bytes + head.body_bytes) return Incomplete{};
  head.request.body = bytes.substr(head_bytes, head.body_bytes);
  bytes.erase(0, head_bytes + head.body_bytes);
  return std::move(head.request);
}

std::string response(int status, std::string_view body, bool keep_alive, bool without_body) {
  std::string text = "HTTP/1.1 " + std::to_string(status) + " " + reason(status) +
                     "\r\nContent-Type: text/plain\r\nContent-Length: " + std::to_string(body.size()) +
                     (keep_alive ? "\r\n\r\n" : "\r\nConnection: close\r\n\r\n");
  return without_body ? text : text.append(body);
}
}  // namespace example
