#include "lease/redis_password.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/unique_fd.h"
namespace moult {
namespace {
Result<std::string> first_line(const std::string& path) {
  const auto cannot = [&](int code) { return errno_error("cannot read the store's password from " + path, code); };
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return cannot(errno);
  std::string text(longest_redis_password_bytes + 2, '\0');  // and the end of the line
  std::size_t length = 0;
  while (length < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + length, text.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot(errno);
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
  }
  text.resize(length);
  text.resize(std::min(text.find_first_of("\r\n"), text.size()));
  return text;
}
}  // namespace

Result<RedisAddress> with_password(RedisAddress address, const char* environment) {
  if (!address.password.empty()) return address;
  if (address.password_file.empty()) {
    if (environment) address.password = environment;
    if (address.password.size() <= longest_redis_password_bytes) return address;
    return Error{std::string(redis_password_variable) + ": a password has at most " +
                 std::to_string(longest_redis_password_bytes) + " bytes"};
  }
  auto password = first_line(address.password_file);
  if (!password) return password.error();
  const std::string where = "the store's password in " + address.password_file;
  if (password->empty()) return Error{where + ": the first line is empty"};
  if (password->size() > longest_redis_password_bytes)
    return Error{where + " has more than " + std::to_string(longest_redis_password_bytes) + " bytes"};
  if (password->find('\0') != std::string::npos) return Error{where + " contains a zero byte"};
  address.password = *std::move(password);
  return address;
}
}  // namespace moult
