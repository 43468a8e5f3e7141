#include "lease/fleet_policy.h"

#include <cstdio>
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

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
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

std::string recycle_rate_text(const FleetPolicy& policy) {
  switch (policy.rate_per) {
    case RatePer::worker: return number_text(policy.tokens_per_hour) + "/h/worker";
    case RatePer::fleet: return number_text(policy.tokens_per_hour) + "/h";
    case RatePer::unlimited: return "off";
  }
  return "";
}

std::string settings_that_differ(const FleetPolicy& its, const FleetPolicy& ruling) {
  std::string said;
  const auto compare = [&](const char* flag, const std::string& mine, const std::string& fleets) {
    if (mine == fleets) return;
    said += (said.empty() ? "" : ", ") + std::string(flag) + " " + mine + " (the fleet: " + fleets + ")";
  };
  const auto seconds = [](Duration d) { return number_text(std::chrono::duration<double>(d).count()) + "s"; };
  compare("--lease-permits", std::to_string(its.permits), std::to_string(ruling.permits));
  compare("--lease-ttl", seconds(its.ttl), seconds(ruling.ttl));
  compare("--recycle-rate", recycle_rate_text(its), recycle_rate_text(ruling));
  compare("--recycle-burst", std::to_string(its.burst), std::to_string(ruling.burst));
  compare("--min-healthy", std::to_string(its.minimum_healthy_percent) + "%",
          std::to_string(ruling.minimum_healthy_percent) + "%");
  return said;
}
}  // namespace moult
