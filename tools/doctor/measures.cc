#include "tools/doctor/measures.h"

#include <algorithm>

#include "tools/event_history/figures.h"
namespace moult {
bool went_because_of_memory(const RecycleLine& recycle) {
  return recycle.cause == Cause::limit || recycle.cause == Cause::hard_limit || recycle.cause == Cause::pressure;
}

bool is_routine(const RecycleLine& recycle) { return recycle.urgency == Urgency::routine; }

double stated_cooldown_seconds(const History& history) {
  std::vector<double> cooldowns;
  for (const RecycleLine& recycle : history.recycles)
    if (is_routine(recycle) && recycle.cooldown_seconds) cooldowns.push_back(*recycle.cooldown_seconds);
  return cooldowns.empty() ? default_cooldown_seconds : percentile(std::move(cooldowns), 50);
}

double shown_cooldown_seconds(const History& history) {
  double seconds = stated_cooldown_seconds(history);
  for (const RecycleLine& recycle : history.recycles)
    if (is_routine(recycle) && recycle.gap_seconds) seconds = std::min(seconds, *recycle.gap_seconds);
  return seconds;
}

bool is_right_behind(double gap_seconds, double cooldown_seconds) {
  return gap_seconds >= cooldown_seconds && gap_seconds < cooldown_seconds * right_behind;
}
}  // namespace moult
