#pragma once
// What is said to a store and what it says, as plain values: RESP2 by hiredis, which is used as a parser of bytes and
// never touches a socket. Pure. Used by RedisConnection; a reply is read by whoever asked.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
namespace moult {
struct RedisNil {};
// An error that the store answered, as a value: for the caller who can act on its code.
struct RedisError {
  std::string code;     // its first word: "NOSCRIPT", "ERR"
  std::string message;  // all of it, the code included, cut at longest_error_bytes; no control characters
};
struct RedisReply {
  using Array = std::vector<RedisReply>;
  std::variant<RedisNil, std::int64_t, std::string, Array, RedisError> value;  // a status ("OK") is a text

  // What it is, or null: `if (const auto* text = reply.as<std::string>())`.
  template <class Kind>
  const Kind* as() const {
    return std::get_if<Kind>(&value);
  }
};

// One reply, all its parts together: a view of 4,096 instances, each of 200 bytes, is 0.8 MB.
inline constexpr std::size_t longest_reply_bytes = 4 << 20;
inline constexpr std::size_t most_reply_elements = 1 << 17;
inline constexpr std::size_t deepest_reply = 7;  // hiredis' own bound
inline constexpr std::size_t longest_error_bytes = 512;

// Words as the store reads them: binary-safe.
std::string redis_command(const std::vector<std::string>& words);

struct ReplyBounds {
  std::size_t bytes = longest_reply_bytes;
  std::size_t elements = most_reply_elements;
};

// Cuts a stream of bytes into replies. After an error it gives nothing more: the stream can no longer be trusted.
class RedisReplies {
 public:
  explicit RedisReplies(ReplyBounds = {});
  ~RedisReplies();
  RedisReplies(const RedisReplies&) = delete;
  RedisReplies& operator=(const RedisReplies&) = delete;

  void feed(std::string_view bytes);
  // The next whole reply; nothing: more bytes are needed. An error says what is wrong with the reply.
  std::optional<Result<RedisReply>> next();

 private:
  struct Reader;
  std::unique_ptr<Reader> reader_;
};
}  // namespace moult
