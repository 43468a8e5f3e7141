#pragma once
// What the recycler's tests share: one worker in a small world of whole numbers.
#include <gtest/gtest.h>

#include "recycler/decide.h"
namespace moult {
using namespace std::chrono_literals;

inline constexpr std::uint64_t MB = megabyte;
inline constexpr MonotonicTime start{1000s};

// Limit 100 MB, hard limit 130 MB; the defaults else.
inline WorkerRecord worker_at(std::uint64_t rss_bytes, WorkerId id = {1}) {
  WorkerRecord record;
  record.worker = id;
  record.ready_at = record.read_at = start;
  record.boot_rss_bytes = 50 * MB;
  record.limit_bytes = 100 * MB;
  record.hard_limit_bytes = 130 * MB;
  record.rss_bytes = rss_bytes;
  return record;
}
inline WorkerReading statm(std::uint64_t rss_bytes, double requests_per_second = 0) {
  return {rss_bytes, 0, requests_per_second, false};
}
inline WorkerReading smaps(std::uint64_t rss_bytes, double requests_per_second = 0) {
  return {rss_bytes, 0, requests_per_second, true};
}
// Read twice over, so that one reading is not what holds it.
inline WorkerRecord confirmed_at(std::uint64_t rss_bytes, const RecyclePolicy& policy, MonotonicTime now) {
  const WorkerRecord once = observe(worker_at(50 * MB), statm(rss_bytes), policy, now - 100ms);
  return observe(once, smaps(rss_bytes), policy, now);
}
inline InstanceReading instance(std::optional<MonotonicTime> last_recycle_at = std::nullopt) {
  return {1000 * MB, last_recycle_at, std::nullopt};
}
inline const Hold* held(const Decision& decision, HoldReason why) {
  const auto* hold = std::get_if<Hold>(&decision);
  return hold && hold->why == why ? hold : nullptr;
}
inline bool recycled(const Decision& decision, Cause cause, Urgency urgency) {
  const auto* recycle = std::get_if<Recycle>(&decision);
  return recycle && recycle->cause == cause && recycle->urgency == urgency;
}
inline bool kept(const Decision& decision) { return std::holds_alternative<Keep>(decision); }
}  // namespace moult
