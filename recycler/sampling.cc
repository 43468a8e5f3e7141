#include "recycler/sampling.h"

#include <algorithm>
namespace moult {
namespace {
Duration interval(const WorkerRecord& record, const RecyclePolicy& policy) {
  const std::uint64_t limit = std::min(record.limit_bytes, record.hard_limit_bytes);
  if (limit == no_limit) return policy.sample_far;
  if (record.rss_bytes >= limit - limit / 10) return policy.sample_near;
  if (record.growth_bytes_per_second <= 0) return policy.sample_far;
  const double seconds = static_cast<double>(limit - record.rss_bytes) / record.growth_bytes_per_second / 4;
  if (seconds >= std::chrono::duration<double>(policy.sample_far).count()) return policy.sample_far;
  return std::max(policy.sample_near, std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)));
}
}  // namespace

MonotonicTime next_look(const WorkerRecord& record, const RecyclePolicy& policy, MonotonicTime now) {
  const MonotonicTime look = now + interval(record, policy);
  return record.lifetime_end > now ? std::min(look, record.lifetime_end) : look;
}

bool next_look_is_precise(const WorkerRecord& record, const RecyclePolicy& policy) {
  return record.readings_over > 0 && record.readings_over < policy.rules(Urgency::routine).readings;
}
}  // namespace moult
