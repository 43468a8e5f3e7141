#include "recycler/lifetimes.h"

#include <algorithm>
namespace moult {
namespace {
bool counts(Cause cause) {
  switch (cause) {
    case Cause::limit:
    case Cause::hard_limit:
    case Cause::pressure: return true;
    case Cause::max_requests:
    case Cause::max_lifetime:
    case Cause::operator_request: break;
  }
  return false;
}

template <class Value>
Value percentile(std::vector<Value> values, std::size_t percent) {
  const auto rank = values.begin() + static_cast<std::ptrdiff_t>((values.size() * percent + 99) / 100 - 1);
  std::ranges::nth_element(values, rank);
  return *rank;
}

// Whether the alarm is to fire from now on; between the thresholds it stays as it is.
bool fires(const Lifetimes& lifetimes, const AlarmPolicy& policy) {
  const LifetimeFigures now = figures(lifetimes);
  if (now.samples < fewest_samples) return false;
  const double factor = lifetimes.firing ? clears_at : 1;
  const bool few = static_cast<double>(now.p10) < factor * static_cast<double>(policy.requests_p10);
  return few && now.p10_lifetime < long_life * factor;
}
}  // namespace

LifetimesStep record_life(Lifetimes lifetimes, Cause cause, const Life& life, const AlarmPolicy& policy) {
  if (!counts(cause)) return {std::move(lifetimes), AlarmChange::none};
  lifetimes.last.push_back(life);
  if (lifetimes.last.size() > policy.window) lifetimes.last.erase(lifetimes.last.begin());
  const bool before = lifetimes.firing;
  lifetimes.firing = fires(lifetimes, policy);
  if (lifetimes.firing == before) return {std::move(lifetimes), AlarmChange::none};
  return {std::move(lifetimes), before ? AlarmChange::cleared : AlarmChange::fired};
}

LifetimeFigures figures(const Lifetimes& lifetimes) {
  if (lifetimes.last.empty()) return {0, 0, 0, {}};
  std::vector<std::uint64_t> requests;
  std::vector<Duration> durations;
  for (const Life& life : lifetimes.last) {
    requests.push_back(life.requests);
    durations.push_back(life.lifetime);
  }
  return {lifetimes.last.size(), percentile(requests, 10), percentile(requests, 50), percentile(durations, 10)};
}
}  // namespace moult
