#include "master/sleep/scheduled_call.h"

#include "base/step.h"
namespace moult {
namespace {
std::optional<WallTime> next_multiple(Duration period, WallTime after) {
  const Duration since = after.time_since_epoch();
  const Duration into = since % period;  // negative before 1970
  const Duration left = into < Duration::zero() ? -into : period - into;
  if (after > WallTime::max() - left) return std::nullopt;
  return after + left;
}
}  // namespace

std::optional<WallTime> next_after(const When& when, WallTime after) {
  return std::visit(Match{[&](const Every& e) { return next_multiple(e.period, after); },
                          [&](const CronTimes& c) { return next_cron_time(c.cron, c.zone, after); }},
                    when);
}
}  // namespace moult
