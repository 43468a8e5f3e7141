#include "master/config/text_file.h"

#include <fcntl.h>

#include <cerrno>

#include "base/unique_fd.h"
namespace moult {
Result<std::string> read_text_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno_error("cannot read " + path, errno);
  std::string text;
  char block[16384];
  for (;;) {
    const ssize_t got = ::read(file.get(), block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("cannot read " + path, errno);
    if (got == 0) return text;
    text.append(block, static_cast<std::size_t>(got));
    if (text.size() > largest_text_file)
      return Error{"cannot read " + path + ": it is larger than " + std::to_string(largest_text_file) + " bytes"};
  }
}
}  // namespace moult
