#pragma once
// What the fleet may afford: the settings of the ledger, the same in every instance of a fleet. Pure.
#include <chrono>
#include <string>

#include "base/clock.h"
#include "base/result.h"
namespace moult {
enum class RatePer { worker, fleet, unlimited };  // --recycle-rate 1/h/worker, N/h, off

struct FleetPolicy {
  unsigned permits = 1;                      // --lease-permits: recycles in hand at once, fleet-wide
  Duration ttl = std::chrono::seconds(120);  // --lease-ttl: a lease that nobody renews ends by itself
  double tokens_per_hour = 1;                // --recycle-rate
  RatePer rate_per = RatePer::worker;
  unsigned burst = 2;                     // --recycle-burst; urgent ones may overdraw by as much again
  unsigned minimum_healthy_percent = 50;  // --min-healthy
  bool operator==(const FleetPolicy&) const = default;
};

inline constexpr Duration heartbeat_every = std::chrono::seconds(5);
inline constexpr Duration vanished_after = 3 * heartbeat_every;     // three missed: it counts as unhealthy ...
inline constexpr Duration vanished_for = std::chrono::minutes(10);  // ... for so long, then it is forgotten
inline constexpr Duration ask_again_routine = heartbeat_every;      // hint where the end of a wait is unknown
inline constexpr Duration ask_again_urgent = std::chrono::milliseconds(200);
inline constexpr Duration longest_hint = std::chrono::hours(1);  // rates change: nobody waits longer unasked
inline constexpr double longest_debt_hours = 24;                 // ungated debits owe no more than a day's tokens
inline constexpr unsigned most_permits = 1024;
inline constexpr unsigned most_instances = 4096;  // one more: the longest unheard is forgotten

// One sentence that names the flag, for a person who starts moult: values out of range, and a minimum that not even a
// fleet in full health could keep while one of its workers is replaced in place. `fleet_workers` is what is known at
// the start: this instance's workers, more where a store has told of others. A single worker is replaced by overlap.
Result<void> check(const FleetPolicy&, unsigned fleet_workers);

std::string recycle_rate_text(const FleetPolicy&);  // as --recycle-rate has it: "1/h/worker"

// "--lease-permits 2 (the fleet: 1), --recycle-burst 4 (the fleet: 2)": what an instance runs with and is not judged
// by. Empty: it agrees.
std::string settings_that_differ(const FleetPolicy& its, const FleetPolicy& ruling);
}  // namespace moult
