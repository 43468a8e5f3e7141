#pragma once
// The store's password, wherever it comes from: the URL, the URL's password-file, or the environment. In this order:
// what is said more closely wins. Called once, when moult starts and when it is upgraded.
#include <cstddef>

#include "base/result.h"
#include "lease/redis_url.h"
namespace moult {
inline constexpr const char* redis_password_variable = "MOULT_FLEET_PASSWORD";
inline constexpr std::size_t longest_redis_password_bytes = 4096;

// `environment` is the value of MOULT_FLEET_PASSWORD, or null. Of a file the first line is the password. Errors name
// the file, never what is in it.
Result<RedisAddress> with_password(RedisAddress, const char* environment);
}  // namespace moult
