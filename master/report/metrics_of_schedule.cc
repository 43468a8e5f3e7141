// Scheduled calls. Labels are outcomes and the names of entries, of which there are at most most_scheduled_calls.
#include "master/report/measured_metrics.h"
namespace moult {
void add_schedule(MetricFamilies& all, const ScheduleDescription& schedule) {
  if (schedule.calls.empty()) return;
  auto ended = counters("moult_scheduled_calls_total", "Scheduled calls that ended, by how.");
  for (std::size_t i = 0; i < call_outcomes; ++i)
    add(ended, static_cast<double>(schedule.outcomes[i]), {{"outcome", name(static_cast<CallOutcome>(i))}});
  all.push_back(std::move(ended));

  auto took = gauges("moult_scheduled_call_last_duration_seconds",
                     "How long the last call of a name took, with claim and wake.");
  for (const ScheduledCallDescription& each : schedule.calls)
    if (each.last && each.last->outcome == CallOutcome::answered)
      add(took, std::chrono::duration<double>(each.last->took).count(), {{"name", each.name}});
  all.push_back(std::move(took));
}
}  // namespace moult
