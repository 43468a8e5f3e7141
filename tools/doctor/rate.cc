// The rate at saturation: what the cooldowns permit at most, and what the busiest half hour shows to be permitted.
// Named when both would replace the whole fleet several times an hour: then recycling is a load of its own.
#include <algorithm>
#include <limits>

#include "lease/fleet_policy.h"
#include "tools/doctor/checks.h"
#include "tools/doctor/measures.h"
#include "tools/event_history/figures.h"
namespace moult {
namespace {
constexpr Duration window = std::chrono::minutes(30);
constexpr double window_hours = 0.5;
// Twice what the default budget affords (--recycle-rate 1/h/worker): each worker more than two times an hour.
constexpr double several_fleets_an_hour = 2;

struct Busiest {
  std::size_t recycles = 0;
  WallTime from{};
};

// Routine ones that memory caused: what somebody asked for by hand or by a count, and what was urgent, is meant to be.
Busiest busiest_window(const History& history) {
  std::vector<WallTime> moments;
  for (const RecycleLine& recycle : history.recycles)
    if (is_routine(recycle) && went_because_of_memory(recycle)) moments.push_back(recycle.at);
  Busiest busiest;
  std::size_t first = 0;
  for (std::size_t last = 0; last < moments.size(); ++last) {
    while (moments[last] - moments[first] > window) ++first;
    if (last - first + 1 > busiest.recycles) busiest = {last - first + 1, moments[first]};
  }
  return busiest;
}

double per_hour(double cooldown_seconds) {
  constexpr double shortest_seconds = 0.001;  // as recycler/saturation.cc has it
  return 3600 / std::max(cooldown_seconds, shortest_seconds);
}

std::string once_in(double fleets_an_hour) { return duration_text(3600 / fleets_an_hour); }
}  // namespace

Check check_rate(const History& history) {
  const double workers = static_cast<double>(std::max<std::size_t>(history.worker_slots.size(), 1));
  const double permitted = static_cast<double>(history.instances.size()) * per_hour(stated_cooldown_seconds(history));
  const Busiest busiest = busiest_window(history);
  const unsigned burst = FleetPolicy{}.burst;
  const double beyond_burst = busiest.recycles > burst ? static_cast<double>(busiest.recycles - burst) : 0;
  const double shown = beyond_burst / window_hours / workers, by_cooldowns = permitted / workers;
  Check check{.name = "rate", .title = "the rate that is permitted"};
  check.looks_at = "the busiest half hour of routine recycles that memory caused, less the " + std::to_string(burst) +
                   " that a bucket may give at once (--recycle-burst), and what the cooldowns permit. More than " +
                   number(several_fleets_an_hour) + " fleets an hour is twice the default budget (1/h/worker).";
  check.verdict = "The cooldowns alone permit " + number(permitted) + " recycles an hour to " +
                  counted(history.worker_slots.size(), "worker", "workers") + ". The busiest half hour had " +
                  counted(busiest.recycles, "routine recycle", "routine recycles") + ".";
  check.figures = {{"permitted_by_cooldowns_per_hour", permitted},
                   {"workers", history.worker_slots.size()},
                   {"busiest_half_hour", busiest.recycles},
                   {"fleets_per_hour", shown}};
  if (busiest.recycles == 0) {
    check.level = Level::too_few;
  } else if (shown > several_fleets_an_hour && by_cooldowns > several_fleets_an_hour) {
    check.level = Level::finding;
    check.title = "the permitted rate replaces the fleet several times an hour";
    check.verdict += " At that pace the whole fleet is replaced once in " + once_in(shown) +
                     ", and the cooldowns would permit once in " + once_in(by_cooldowns) + ".";
    check.next_step =
        "Give the fleet a budget: --recycle-rate 1/h/worker (the default), shared by all instances with "
        "--fleet. If workers do not live for an hour then, the limit is too low or the leak too fast.";
  }
  return check;
}
}  // namespace moult
