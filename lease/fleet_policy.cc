#include "lease/fleet_policy.h"

#include <string>
namespace moult {
namespace {
Result<void> check_minimum(const FleetPolicy& policy, unsigned workers) {
  if (workers < 2) return {};
  const unsigned possible = (workers - 1) * 100 / workers;
  if (policy.minimum_healthy_percent <= possible) return {};
  return Error{"--min-healthy " + std::to_string(policy.minimum_healthy_percent) + "%: with one of " +
               std::to_string(workers) + " workers away only " + std::to_string(possible) +
               "% serve, so nothing could ever be replaced in place: at most " + std::to_string(possible) +
               "%, or more workers"};
}
}  // namespace

Result<void> check(const FleetPolicy& policy, unsigned fleet_workers) {
  if (policy.permits < 1 || policy.permits > most_permits)
    return Error{"--lease-permits: from 1 to " + std::to_string(most_permits)};
  if (policy.ttl < std::chrono::seconds(1)) return Error{"--lease-ttl: at least 1s"};
  if (policy.rate_per != RatePer::unlimited && !(policy.tokens_per_hour > 0))
    return Error{"--recycle-rate: more than 0, or off"};
  if (policy.burst < 1) return Error{"--recycle-burst: at least 1"};
  if (policy.minimum_healthy_percent > 100) return Error{"--min-healthy: from 0% to 100%"};
  return check_minimum(policy, fleet_workers);
}
}  // namespace moult
