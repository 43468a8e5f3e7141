#include "recycler/policy.h"

#include "recycler/lifetimes.h"
namespace moult {
LimitPolicy limit_policy(std::uint64_t base_bytes) {
  LimitPolicy policy;
  policy.base_bytes = base_bytes;
  policy.spread_bytes = base_bytes / 20;
  policy.hard_limit_bytes = base_bytes + base_bytes / 10 * 3;
  return policy;
}

Result<void> check(const RecyclePolicy& policy) {
  const Duration cooldown = policy.rules(Urgency::routine).cooldown;
  for (const Urgency urgent : {Urgency::hard_limit, Urgency::pressure})
    if (policy.rules(urgent).cooldown > cooldown)
      return Error{
          "--urgent-cooldown is longer than --cooldown: what is urgent must not wait longer; "
          "lower it too"};
  if (policy.limit.jitter < 0 || policy.limit.jitter >= 1) return Error{"--limit-jitter: from 0% to less than 100%"};
  if (policy.sample_near <= Duration::zero()) return Error{"--sample-near: more than 0"};
  if (policy.sample_near > policy.sample_far) return Error{"--sample-near is longer than --sample-far"};
  if (policy.defer_max < Duration::zero()) return Error{"--defer-max: 0 or more"};
  if (policy.alarm.window < fewest_samples || policy.alarm.window > most_samples)
    return Error{"--alarm-window: from " + std::to_string(fewest_samples) + " to " + std::to_string(most_samples)};
  return {};
}
}  // namespace moult
