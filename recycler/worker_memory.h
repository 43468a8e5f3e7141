#pragma once
// What one worker weighs. Opened by memory_watch when a worker is ready, and kept until it is reaped: the open statm
// stays with that process, and while it is not reaped its pid is nobody else's. One descriptor a worker.
//
// A dead or dying process has no memory: an error with code ESRCH, never a zero.
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
namespace moult {
class WorkerMemory {
 public:
  // `root` stands before /proc, for tests.
  static Result<WorkerMemory> open(pid_t, const std::string& root = "");

  // Resident pages, shared ones too: one pread, microseconds. It does not see that shared pages become private, which
  // is why it does not drift with use; it may be off by some hundred kB (per-CPU counters).
  Result<std::uint64_t> rss_bytes() const;

  struct Rollup {
    std::uint64_t rss_bytes;
    std::uint64_t private_bytes;  // USS: what its exit gives back
  };
  // From smaps_rollup: exact, milliseconds, so only when needed.
  Result<Rollup> rollup() const;

 private:
  WorkerMemory(std::string path, UniqueFd statm);
  std::string path_;  // of its folder in /proc
  UniqueFd statm_;
};
}  // namespace moult
