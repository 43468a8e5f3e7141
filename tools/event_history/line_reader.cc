#include "tools/event_history/line_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/unique_fd.h"
namespace moult {
namespace {
using Take = std::function<Result<void>(const InputLine&)>;
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf", blanks = " \t\r";

// Puts lines together from the pieces that a file is read in.
class Lines {
 public:
  explicit Lines(const Take& take) : take_(take) {}

  Result<void> add(std::string_view piece) {
    for (auto end = piece.find('\n'); end != piece.npos; end = piece.find('\n')) {
      keep(piece.substr(0, end));
      if (auto taken = finish(); !taken) return taken;
      piece.remove_prefix(end + 1);
    }
    keep(piece);
    return {};
  }

  Result<void> finish() {
    ++number_;
    std::string_view text = line_;
    if (number_ == 1 && text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    while (!text.empty() && blanks.find(text.back()) != blanks.npos) text.remove_suffix(1);
    const bool blank = text.empty() && !too_long_;
    Result<void> taken = blank ? Result<void>() : take_({number_, text, too_long_});
    line_.clear();
    too_long_ = false;
    return taken;
  }

 private:
  void keep(std::string_view part) {
    too_long_ = too_long_ || line_.size() + part.size() > longest_line;
    if (too_long_) line_.clear();
    else line_ += part;
  }

  const Take& take_;
  std::string line_;
  std::size_t number_ = 0;
  bool too_long_ = false;
};

// What rotated files are compressed by, known by how it begins.
struct Compression {
  std::string_view begins, tool;
};
constexpr std::string_view xz = "\xfd\x37\x7a\x58\x5a";
constexpr std::array compressions{Compression{"\x1f\x8b", "zcat"}, Compression{"\x28\xb5\x2f\xfd", "zstdcat"},
                                  Compression{xz, "xzcat"}};

Result<void> readable(std::string_view beginning, const std::string& path) {
  for (const Compression& each : compressions)
    if (beginning.starts_with(each.begins))
      return Error{path + " is compressed: give it as <(" + std::string(each.tool) + " FILE), or on stdin as -"};
  return {};
}

Error cannot_read(const std::string& path) { return errno_error("cannot read " + path, errno); }
}  // namespace

Result<void> for_each_line(const std::string& path, const Take& take) {
  const bool is_stdin = path == "-";
  UniqueFd file(is_stdin ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const std::string called = is_stdin ? "stdin" : path;
  if (file.get() < 0) return cannot_read(called);
  Lines lines(take);
  std::array<char, 1 << 16> piece;
  for (bool begun = false;;) {
    const ssize_t size = ::read(file.get(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return cannot_read(called);
    if (size == 0) return lines.finish();
    if (!std::exchange(begun, true))
      if (auto text = readable({piece.data(), static_cast<std::size_t>(size)}, called); !text) return text;
    if (auto added = lines.add({piece.data(), static_cast<std::size_t>(size)}); !added) return added;
  }
}
}  // namespace moult
