#include "master/pool/health.h"

#include <algorithm>
#include <cstdio>
namespace moult {
namespace {
using namespace std::chrono_literals;
constexpr Duration soonest = 100ms, latest = 1s;

std::string seconds(Duration d) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(d).count());
  return text;
}

bool over(std::optional<MonotonicTime> since, Duration limit, MonotonicTime now) {
  return limit > Duration::zero() && since && now - *since >= limit;
}
}  // namespace

std::optional<std::string> hung_because(const VitalSigns& signs, const HealthPolicy& policy, MonotonicTime now) {
  if (over(signs.heartbeat, policy.timeout, now))
    return "no heartbeat for " + seconds(now - *signs.heartbeat) + " (--timeout " + seconds(policy.timeout) + ")";
  if (over(signs.oldest_plain_request, policy.request_timeout, now))
    return "a request has been in flight for " + seconds(now - *signs.oldest_plain_request) + " (--request-timeout " +
           seconds(policy.request_timeout) + ")";
  return std::nullopt;
}

std::optional<Duration> look_every(const HealthPolicy& policy) {
  Duration shortest = Duration::max();
  for (const Duration each : {policy.timeout, policy.request_timeout})
    if (each > Duration::zero()) shortest = std::min(shortest, each);
  if (shortest == Duration::max()) return std::nullopt;
  return std::clamp(shortest / 4, soonest, latest);
}
}  // namespace moult
