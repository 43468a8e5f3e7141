// Whether the app sleeps, and how long it did not.
#include "master/report/measured_metrics.h"
namespace moult {
void add_sleep(MetricFamilies& all, const IdleDescription& idle) {
  auto states = gauges("moult_idle_state", "1 for the state that the app is in.");
  for (const IdleState each : {IdleState::active, IdleState::stopping, IdleState::asleep, IdleState::waking})
    add(states, each == idle.state ? 1 : 0, {{"state", std::string(name_of(each))}});
  all.push_back(std::move(states));
  auto blocked =
      gauges("moult_idle_blocked", "1 for what keeps an app awake that is: the first reason that was found.");
  for (int why = 0; why <= static_cast<int>(BlockedBy::failed_stop); ++why) {  // it is the last
    const auto reason = static_cast<BlockedBy>(why);
    add(blocked, idle.state == IdleState::active && idle.blocked_by == reason ? 1 : 0,
        {{"reason", std::string(name_of(reason))}});
  }
  all.push_back(std::move(blocked));
  all.push_back(counter("moult_awake_seconds_total", "Time since the start in which the app was not asleep.",
                        std::chrono::duration<double>(idle.awake).count()));
}
}  // namespace moult
