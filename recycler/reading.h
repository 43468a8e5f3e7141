#pragma once
// What was read, of one worker and of the instance, in one look. Pure; memory_watch fills it from worker_memory,
// instance_memory and the scoreboard.
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "recycler/victim.h"
namespace moult {
struct WorkerReading {
  std::uint64_t rss_bytes;
  std::uint64_t requests;  // finished, by visitors
  double requests_per_second;
  // From smaps_rollup, or as good as can be had. statm sums per-CPU counters: it may be off by some hundred kB.
  bool precise = false;
};
struct InstanceReading {
  std::uint64_t headroom_bytes;                  // what may still be allocated before the kernel kills
  std::optional<MonotonicTime> last_recycle_at;  // when the last recycle was started; a reload's turn is none
  std::optional<Pressure> pressure;
};
}  // namespace moult
