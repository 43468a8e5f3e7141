// Whether the app sleeps, and how long it did not.
#include "master/report/measured_metrics.h"
namespace moult {
void add_sleep(MetricFamilies& all, const IdleDescription& idle) {
  auto states = gauges("moult_idle_state", "1 for the state that the app is in.");
  for (const IdleState each : {IdleState::active, IdleState::stopping, IdleState::asleep, IdleState::waking})
    add(states, each == idle.state ? 1 : 0, {{"state", std::string(name_of(each))}});
  all.push_back(std::move(states));
  all.push_back(counter("moult_awake_seconds_total", "Time since the start in which the app was not asleep.",
                        std::chrono::duration<double>(idle.awake).count()));
}
}  // namespace moult
