#pragma once
// Whether what a client has said so far is a request for one of the --idle-ignore paths (DESIGN §8): health checks that
// the master answers itself while the app sleeps. Pure; plain HTTP/1 only. Used by IgnoredAnswers.
//
// Whatever is not plainly such a request is a caller's: the app answers it, be it an error. So only these are known:
// GET or HEAD, the path byte for byte (before a `?`), no body, no upgrade, no Expect, no header line that needs a
// second thought. The head ends with an empty line; what follows is the next request.
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>
namespace moult {
// A head of more bytes is a caller's. As much as servers take (8 KiB is nginx's and gunicorn's usual bound).
inline constexpr std::size_t most_ignored_head_bytes = 8 * 1024;

struct CallersRequest {};
struct PartOfARequest {};  // so far it could be one
struct IgnoredRequest {
  std::size_t length;  // of the head, in bytes
  bool is_head;        // HEAD: the answer has no body
  bool keeps_alive;    // the connection may carry another request
};
using HeardRequest = std::variant<CallersRequest, PartOfARequest, IgnoredRequest>;

HeardRequest read_ignored_request(std::string_view said, const std::vector<std::string>& paths);

// What the master answers. HTTP/1.0 clients that are kept alive hear so.
std::string answer_to(const IgnoredRequest&);
}  // namespace moult
