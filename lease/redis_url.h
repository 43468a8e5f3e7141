#pragma once
// Where the store is: what --fleet says. Pure. Read by config, used by RedisConnection.
//
//   redis://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE]     HOST: a name, 10.0.0.1 or [::1]; port 6379, database 0
//   rediss://...                                         the same over TLS
//   redis+unix://[USER[:PASSWORD]@]/PATH[?db=DATABASE]   a unix socket
//   each with ?password-file=PATH                        absolute; its first line is the password
//   :PASSWORD@ alone is the default user. A '%' begins an encoded byte: %40 is '@'.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
namespace moult {
struct RedisAddress {
  enum class Kind { tcp, tls, unix_socket };
  Kind kind = Kind::tcp;
  std::string host;        // without brackets; empty for a unix socket
  std::uint16_t port = 0;  // 0 for a unix socket
  std::string path;        // of a unix socket
  unsigned database = 0;
  std::string user;      // empty: the store's default user
  std::string password;  // a secret: in no log, error, status or argument list. Empty: none is given
  std::string password_file;
  bool operator==(const RedisAddress&) const = default;
};
inline constexpr std::uint16_t default_redis_port = 6379;
inline constexpr unsigned most_redis_databases = 1 << 14;  // a slip of the finger, not a database
inline constexpr std::size_t longest_redis_url_bytes = 4096;

// An error is one sentence that names the part which is wrong. It never contains the user's password, nor any part of
// the text that might be one.
Result<RedisAddress> parse_redis_url(std::string_view text);

// For people: like the URL, without the password and its file.
std::string printable(const RedisAddress&);
// For a configuration file: all of it but the password; parse_redis_url() reads it back.
std::string without_password(const RedisAddress&);
}  // namespace moult
