#include "worker/scoreboard_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <utility>
namespace moult {
namespace {
// Without them whoever holds the memfd could shrink it, and the other side's next look would be a SIGBUS.
constexpr int size_seals = F_SEAL_SHRINK | F_SEAL_GROW;
static_assert(static_cast<std::size_t>(ScoreboardField::count) * sizeof(std::uint64_t) <= scoreboard_bytes);
static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free);

Result<std::uint64_t*> map(int fd) {
  void* memory = ::mmap(nullptr, scoreboard_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return errno_error("cannot map a scoreboard", errno);
  return static_cast<std::uint64_t*>(memory);
}

std::atomic_ref<std::uint64_t> word(std::uint64_t* words, ScoreboardField field) {
  return std::atomic_ref(words[static_cast<std::size_t>(field)]);
}
}  // namespace

Result<ScoreboardMemory> ScoreboardMemory::create() {
  UniqueFd fd(::memfd_create("moult-scoreboard", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return errno_error("cannot make a scoreboard", errno);
  if (::ftruncate(fd.get(), scoreboard_bytes) != 0) return errno_error("cannot size a scoreboard", errno);
  if (::fcntl(fd.get(), F_ADD_SEALS, size_seals | F_SEAL_SEAL) != 0)
    return errno_error("cannot seal a scoreboard", errno);
  const auto words = map(fd.get());
  if (!words) return words.error();
  ScoreboardMemory scoreboard(std::move(fd), *words);
  scoreboard.write(ScoreboardField::magic, scoreboard_magic);
  scoreboard.write(ScoreboardField::version, scoreboard_version);
  return scoreboard;
}

Result<ScoreboardMemory> ScoreboardMemory::open(UniqueFd fd) {
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return errno_error("cannot look at a scoreboard", errno);
  if (status.st_size != scoreboard_bytes) return Error{"this is no scoreboard: its size is not 4096 bytes"};
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & size_seals) != size_seals) return Error{"this is no scoreboard: its size is not sealed"};
  const auto words = map(fd.get());
  if (!words) return words.error();
  ScoreboardMemory scoreboard(std::move(fd), *words);
  if (scoreboard.read(ScoreboardField::magic) != scoreboard_magic) return Error{"this is no scoreboard: no magic"};
  const std::uint64_t version = scoreboard.read(ScoreboardField::version);
  if (version != scoreboard_version)
    return Error{"the scoreboard has version " + std::to_string(version) + ", this program speaks version " +
                 std::to_string(scoreboard_version) + ": master and worker are of different versions of moult"};
  return scoreboard;
}

ScoreboardMemory::ScoreboardMemory(UniqueFd fd, std::uint64_t* words) : fd_(std::move(fd)), words_(words) {}

ScoreboardMemory::ScoreboardMemory(ScoreboardMemory&& other) noexcept
    : fd_(std::move(other.fd_)), words_(std::exchange(other.words_, nullptr)) {}

ScoreboardMemory& ScoreboardMemory::operator=(ScoreboardMemory&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(words_, other.words_);
  return *this;
}

ScoreboardMemory::~ScoreboardMemory() {
  if (words_ != nullptr) ::munmap(words_, scoreboard_bytes);
}

std::uint64_t ScoreboardMemory::read(ScoreboardField field) const {
  return word(words_, field).load(std::memory_order_relaxed);
}

void ScoreboardMemory::write(ScoreboardField field, std::uint64_t value) {
  word(words_, field).store(value, std::memory_order_relaxed);
}
}  // namespace moult
