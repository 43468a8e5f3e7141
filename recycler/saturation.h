#pragma once
// What the settings permit at most, said at start, so that nobody learns it from an incident: recycles per hour for
// each urgency, by which of the bounds, and how long a worker can be held back. Pure.
#include <string>
#include <vector>

#include "base/clock.h"
#include "recycler/policy.h"
namespace moult {
// The gate's side of it, as plain figures.
struct GateFigures {
  unsigned permits = 1;        // fleet-wide
  double tokens_per_hour = 0;  // for the whole fleet; zero: no bucket
  unsigned burst = 0;
  bool is_shared = false;           // with other instances, whose workers nobody knows here
  Duration longest_ungated_wait{};  // before an urgent one goes ungated: urgent-wait and its jitter; local: zero
};
struct Saturation {
  struct Bound {
    const char* by;  // "cooldown", "lease", "bucket"
    double per_hour;
  };
  Urgency urgency;
  std::vector<Bound> bounds;  // the smallest first: it is the one that binds
  Duration longest_hold;      // by decide(), for one that is alone in wanting to go
  double per_hour() const { return bounds.front().per_hour; }
};

// `replacement_time`: from the grant until the slot serves again, as measured or expected.
Saturation saturation(Urgency, const RecyclePolicy&, const GateFigures&, Duration replacement_time);
// One line for each urgency, against the number of workers.
std::vector<std::string> saturation_lines(const RecyclePolicy&, const GateFigures&, Duration replacement_time,
                                          unsigned workers);
}  // namespace moult
