#include "recycler/instance_memory_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/unique_fd.h"
#include "recycler/kernel_text.h"
#include "recycler/policy.h"
namespace moult {
namespace {
constexpr std::size_t small_file_bytes = 64 * 1024;
constexpr std::uint64_t huge_bytes = std::uint64_t{1} << 62;

Result<std::uint64_t> expected(std::optional<std::uint64_t> number, const std::string& path) {
  if (!number) return Error{path + " is not as expected"};
  return *number;
}
}  // namespace

Result<std::string> read_small_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno_error("cannot read " + path, errno);
  std::string text(4096, '\0');
  for (std::size_t filled = 0;;) {
    const ssize_t got = ::read(file.get(), text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("cannot read " + path, errno);
    filled += static_cast<std::size_t>(got);
    if (got == 0 || filled == small_file_bytes) {
      text.resize(filled);
      return text;
    }
    if (filled == text.size()) text.resize(std::min(2 * text.size(), small_file_bytes));
  }
}

Result<std::uint64_t> read_number(const std::string& path) {
  const Result<std::string> text = read_small_file(path);
  if (!text) return text.error();
  return expected(to_number(*text), path);
}

Result<std::uint64_t> read_field(const std::string& path, std::string_view key) {
  const Result<std::string> text = read_small_file(path);
  if (!text) return text.error();
  return expected(number_of(*text, key), path);
}

std::uint64_t no_limit_if_huge(std::uint64_t limit_bytes) { return limit_bytes < huge_bytes ? limit_bytes : no_limit; }

Result<std::uint64_t> read_limit(const std::string& folder, const char* file) {
  const std::string path = folder + "/" + file;
  const Result<std::string> text = read_small_file(path);
  if (!text && text.error().code == ENOENT && ::access(folder.c_str(), F_OK) == 0) return no_limit;
  if (!text) return text.error();
  if (text->starts_with("max")) return no_limit;
  const Result<std::uint64_t> limit = expected(to_number(*text), path);
  if (!limit) return limit.error();
  return no_limit_if_huge(*limit);
}
}  // namespace moult
