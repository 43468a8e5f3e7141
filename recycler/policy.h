#pragma once
// The recycler's settings, filled by Instance from the flags that are named beside them. Pure. Sizes are bytes.
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>

#include "base/clock.h"
#include "base/result.h"
#include "base/urgency.h"
namespace moult {
inline constexpr std::uint64_t megabyte = 1'000'000;
inline constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

enum class Runway { refuse, raise };
struct LimitPolicy {
  std::uint64_t base_bytes = 0;        // --memory-limit; zero: off
  double jitter = 0.08;                // --limit-jitter, a share of base
  std::uint64_t spread_bytes = 0;      // --limit-spread (5 % of base)
  std::uint64_t hard_limit_bytes = 0;  // --hard-limit (1.3 x base)
  bool hard_limit_follows = true;  // nobody gave one: it is lifted with a limit that must be; a given one never moves
  std::uint64_t min_runway_bytes = 0;  // --min-runway; zero: the larger of 50 MB and 40 % of what a worker weighs
  Runway runway = Runway::refuse;      // --runway
};
// The defaults that follow from a base.
LimitPolicy limit_policy(std::uint64_t base_bytes);

// What waits for what. One table instead of special cases: so the cooldown of a worker becomes the short one in the
// moment in which it crosses its hard limit.
struct UrgencyRules {
  Duration cooldown;    // since the instance's last recycle, whatever its urgency
  unsigned readings;    // how many in a row must be over
  bool waits_for_idle;  // for a quiet moment, if --busy-rps is set
};

struct AlarmPolicy {
  std::uint64_t requests_p10 = 400;  // --alarm-requests-p10
  std::size_t window = 50;           // --alarm-window
};

struct RecyclePolicy {
  LimitPolicy limit;
  std::array<UrgencyRules, 3> by_urgency{{
      // indexed by Urgency
      {std::chrono::seconds(120), 2, true},  // --cooldown
      {std::chrono::seconds(1), 1, false},   // --urgent-cooldown
      {std::chrono::seconds(1), 1, false},
  }};
  double busy_requests_per_second = 0;                    // --busy-rps; zero: off
  Duration defer_max = std::chrono::seconds(60);          // --defer-max
  Duration sample_near = std::chrono::milliseconds(100);  // --sample-near
  Duration sample_far = std::chrono::seconds(1);          // --sample-far
  std::uint64_t max_requests = 0;                         // --max-requests; zero: off
  std::uint64_t max_requests_jitter = 0;                  // added to it, from 0 to this
  Duration max_lifetime{};                                // --max-lifetime; zero: off
  Duration max_lifetime_jitter{};                         // added to it, from 0 to this
  std::uint64_t min_headroom_bytes = 0;                   // --min-headroom, of the instance's limit; zero: off
  AlarmPolicy alarm;

  const UrgencyRules& rules(Urgency urgency) const { return by_urgency[static_cast<std::size_t>(urgency)]; }
};

// One sentence that names the flag of what cannot work together. The limit itself is checked when it is known what a
// worker weighs (limit.h).
Result<void> check(const RecyclePolicy&);
}  // namespace moult
