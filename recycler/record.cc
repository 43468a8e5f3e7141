#include "recycler/record.h"

#include <algorithm>
namespace moult {
namespace {
constexpr double growth_memory_seconds = 5;

// A leak that starts is believed at once; that it has stopped only after some seconds.
double next_growth(const WorkerRecord& record, const WorkerReading& reading, MonotonicTime now) {
  const double seconds = std::chrono::duration<double>(now - record.read_at).count();
  if (seconds <= 0) return record.growth_bytes_per_second;
  const double slope = (static_cast<double>(reading.rss_bytes) - static_cast<double>(record.rss_bytes)) / seconds;
  const double old = record.growth_bytes_per_second;
  if (slope >= old) return slope;
  return std::max(0.0, old + (slope - old) * seconds / (seconds + growth_memory_seconds));
}

unsigned next_readings_over(unsigned before, bool over, bool precise) {
  if (!over) return 0;
  if (before == 0 || precise) return before + 1;
  return before;
}

MonotonicTime since(MonotonicTime before, bool holds, MonotonicTime now) {
  if (!holds) return never;
  return std::min(before, now);
}
}  // namespace

WorkerRecord make_record(WorkerId worker, std::uint64_t rss_at_ready_bytes, const LimitRange& range,
                         const RecyclePolicy& policy, Random& random, MonotonicTime now) {
  WorkerRecord record;
  record.worker = worker;
  record.ready_at = record.read_at = now;
  record.boot_rss_bytes = record.rss_bytes = rss_at_ready_bytes;
  record.limit_bytes = draw_limit(range, random);
  record.hard_limit_bytes = range.hard_bytes;
  if (policy.max_requests > 0)
    record.request_limit = policy.max_requests + random.next() % (policy.max_requests_jitter + 1);
  if (policy.max_lifetime > Duration::zero())
    record.lifetime_end = now + policy.max_lifetime + random.up_to(policy.max_lifetime_jitter);
  return record;
}

WorkerRecord observe(WorkerRecord record, const WorkerReading& reading, const RecyclePolicy& policy,
                     MonotonicTime now) {
  record.growth_bytes_per_second = next_growth(record, reading, now);
  record.rss_bytes = reading.rss_bytes;
  record.requests = reading.requests;
  record.requests_per_second = reading.requests_per_second;
  record.read_at = now;
  const bool over = record.rss_bytes >= record.limit_bytes;
  record.readings_over = next_readings_over(record.readings_over, over, reading.precise);
  record.over_limit_since = since(record.over_limit_since, over, now);
  const bool over_hard = record.rss_bytes >= record.hard_limit_bytes;
  if (!over_hard) record.over_hard_before = over_hard_so_far(record, now);
  record.over_hard_since = since(record.over_hard_since, over_hard, now);
  record.due_since = since(record.due_since, routine_cause(record, policy, now).has_value(), now);
  return record;
}

Duration over_hard_so_far(const WorkerRecord& record, MonotonicTime now) {
  return record.over_hard_before + (record.over_hard_since == never ? Duration{} : now - record.over_hard_since);
}

std::optional<Cause> routine_cause(const WorkerRecord& record, const RecyclePolicy& policy, MonotonicTime now) {
  if (record.readings_over >= policy.rules(Urgency::routine).readings) return Cause::limit;
  if (record.operator_request) return Cause::operator_request;
  if (record.requests >= record.request_limit) return Cause::max_requests;
  if (now >= record.lifetime_end) return Cause::max_lifetime;
  return std::nullopt;
}
}  // namespace moult
