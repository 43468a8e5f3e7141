#pragma once
// How long after a recycle the next one may begin. Pure.
#include <optional>

#include "base/clock.h"
#include "recycler/policy.h"
namespace moult {
// A moment in the past where there was none yet. The effective cooldown is that of the next one's urgency: one that
// crosses its hard limit in the middle of the long cooldown needs to wait for the short one only.
inline MonotonicTime cooldown_end(const std::optional<MonotonicTime>& last_recycle_at, const UrgencyRules& next) {
  return last_recycle_at ? *last_recycle_at + next.cooldown : MonotonicTime{};
}

// The most that decide() can hold back one worker that wants to go, when it is alone: second reading, cooldown,
// deferral. Each other one that goes before it may add a cooldown and a deferral.
inline Duration longest_hold(const RecyclePolicy& policy, Urgency urgency, unsigned others_before_it = 0) {
  const UrgencyRules& rules = policy.rules(urgency);
  const bool defers = rules.waits_for_idle && policy.busy_requests_per_second > 0;
  const Duration each = rules.cooldown + (defers ? policy.defer_max : Duration::zero());
  return (rules.readings - 1) * policy.sample_near + (others_before_it + 1) * each;
}
}  // namespace moult
