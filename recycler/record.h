#pragma once
// What the recycler knows of one worker: what it drew when it became ready, and what was read since. Pure.
//
// "Over" is at the limit or above. The times `..._since` are `never` while the thing is not so. A worker that falls
// below its limit again starts anew.
#include <cstdint>

#include "base/clock.h"
#include "base/ids.h"
#include "base/random.h"
#include "recycler/limit.h"
#include "recycler/policy.h"
#include "recycler/reading.h"
namespace moult {
struct WorkerRecord {
  WorkerId worker;
  // drawn at READY
  MonotonicTime ready_at{};
  std::uint64_t boot_rss_bytes = 0;
  std::uint64_t limit_bytes = no_limit, hard_limit_bytes = no_limit;
  std::uint64_t request_limit = no_limit;  // --max-requests with its jitter
  MonotonicTime lifetime_end = never;      // --max-lifetime with its jitter
  // asked for
  bool operator_request = false;  // moult recycle SLOT
  // read since
  std::uint64_t rss_bytes = 0, requests = 0;
  double requests_per_second = 0;
  double growth_bytes_per_second = 0;  // rises at once, falls over some seconds; never below zero
  unsigned readings_over = 0;          // over limit_bytes; beyond the first only precise ones count
  MonotonicTime read_at{};
  MonotonicTime over_limit_since = never, over_hard_since = never;
  Duration over_hard_before{};      // of times that are over
  MonotonicTime due_since = never;  // since when it is to go for any routine cause
};

WorkerRecord make_record(WorkerId, std::uint64_t rss_at_ready_bytes, const LimitRange&, const RecyclePolicy&, Random&,
                         MonotonicTime now);
WorkerRecord observe(WorkerRecord, const WorkerReading&, const RecyclePolicy&, MonotonicTime now);
// How long it has been over its hard limit in all its life, by the readings.
Duration over_hard_so_far(const WorkerRecord&, MonotonicTime now);
// The routine cause for which it is to go, by what is recorded; none: none yet. Where several hold, the memory is what
// matters, then what a person said.
std::optional<Cause> routine_cause(const WorkerRecord&, const RecyclePolicy&, MonotonicTime now);
}  // namespace moult
