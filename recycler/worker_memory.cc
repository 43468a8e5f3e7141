#include "recycler/worker_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <utility>

#include "recycler/kernel_text.h"
namespace moult {
namespace {
std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

Error gone(const std::string& path) { return {path + ": the process is gone", ESRCH}; }
}  // namespace

WorkerMemory::WorkerMemory(std::string path, UniqueFd statm) : path_(std::move(path)), statm_(std::move(statm)) {}

Result<WorkerMemory> WorkerMemory::open(pid_t pid, const std::string& root) {
  std::string path = root + "/proc/" + std::to_string(pid);
  UniqueFd statm(::open((path + "/statm").c_str(), O_RDONLY | O_CLOEXEC));
  if (!statm) return errno == ENOENT ? gone(path) : errno_error("cannot open " + path + "/statm", errno);
  return WorkerMemory(std::move(path), std::move(statm));
}

// "size resident shared text lib data dt", in pages.
Result<std::uint64_t> WorkerMemory::rss_bytes() const {
  std::array<char, 128> text;
  const ssize_t got = ::pread(statm_.get(), text.data(), text.size(), 0);
  if (got < 0) return errno == ESRCH ? gone(path_) : errno_error("cannot read " + path_ + "/statm", errno);
  const char* const end = text.data() + got;
  std::uint64_t size = 0, resident = 0;
  const auto first = std::from_chars(text.data(), end, size);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != ' ' ||
      std::from_chars(first.ptr + 1, end, resident).ec != std::errc{})
    return Error{path_ + "/statm is not as expected"};
  if (size == 0) return gone(path_);
  return resident * page_bytes();
}

// Opened anew each time: an open smaps_rollup stays with the memory that the process had then, even over an exec.
Result<WorkerMemory::Rollup> WorkerMemory::rollup() const {
  const std::string path = path_ + "/smaps_rollup";
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno == ESRCH || errno == ENOENT ? gone(path_) : errno_error("cannot open " + path, errno);
  std::array<char, 4096> content;  // some 800 bytes, which the kernel gives in one piece
  const ssize_t got = ::read(file.get(), content.data(), content.size());
  if (got < 0 && errno != ESRCH) return errno_error("cannot read " + path, errno);
  if (got <= 0) return gone(path_);
  const std::string_view text(content.data(), static_cast<std::size_t>(got));
  const auto rss = number_of(text, "Rss:");
  const auto clean = number_of(text, "Private_Clean:"), dirty = number_of(text, "Private_Dirty:");
  if (!rss || !clean || !dirty) return Error{path + " is not as expected"};
  const std::uint64_t huge = number_of(text, "Private_Hugetlb:").value_or(0);
  return Rollup{*rss * 1024, (*clean + *dirty + huge) * 1024};
}
}  // namespace moult
