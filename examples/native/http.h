#pragma once
// As much of HTTP/1.1 as the example needs: requests with a Content-Length or without a body, one after another.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
namespace example {
inline constexpr std::size_t max_head_bytes = 16 * 1024;
inline constexpr std::size_t max_body_bytes = 1024 * 1024;

struct HttpRequest {
  std::string method, path, body;
  bool keep_alive = true;
};
struct Incomplete {};
struct BadRequest {
  int status;  // what to answer before closing
};
// Takes the first request off `bytes`, if it is there as a whole.
std::variant<HttpRequest, Incomplete, BadRequest> take_request(std::string& bytes);

std::string response(int status, std::string_view body, bool keep_alive, bool without_body = false);
}  // namespace example
