#pragma once
// How long workers live, in requests: the health signal. A limit that is too low, or a leak that grew, shows here and
// nowhere else: rates and margins look well while every worker dies young. Pure.
//
// Only those count that went because of memory (limit, hard limit, pressure): max_requests and operators say nothing.
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "recycler/policy.h"
#include "recycler/reason.h"
namespace moult {
struct Life {
  std::uint64_t requests;
  Duration lifetime;  // from READY to RETIRE
};
struct Lifetimes {
  std::vector<Life> last;  // oldest first, at most AlarmPolicy::window
  bool firing = false;
};
struct LifetimeFigures {
  std::size_t samples;
  std::uint64_t p10, p50;  // requests; zero without samples
  Duration p10_lifetime;
};
enum class AlarmChange { none, fired, cleared };
struct LifetimesStep {
  Lifetimes lifetimes;
  AlarmChange change;
};

inline constexpr std::size_t fewest_samples = 10;  // fewer say nothing
inline constexpr std::size_t most_samples = 10'000;
inline constexpr Duration long_life = std::chrono::hours(1);  // who lives so long may have few visitors
inline constexpr double clears_at = 1.2;                      // times the alarm's threshold

// A worker was recycled. Fires when p10 of requests is under the threshold and p10 of lifetime under long_life.
LifetimesStep record_life(Lifetimes, Cause, const Life&, const AlarmPolicy&);
// Percentiles by nearest rank: values that occurred.
LifetimeFigures figures(const Lifetimes&);
}  // namespace moult
