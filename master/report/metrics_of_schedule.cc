// Scheduled calls. Labels are outcomes and the names of entries, of which there are at most most_scheduled_calls.
#include "master/report/measured_metrics.h"
#include "master/report/seconds.h"
namespace moult {
void add_schedule(MetricFamilies& all, const ScheduleDescription& schedule) {
  if (schedule.calls.empty()) return;
  auto ended = counters("moult_scheduled_calls_total", "Scheduled calls that ended, by how.");
  for (std::size_t i = 0; i < call_outcomes; ++i)
    add(ended, static_cast<double>(schedule.outcomes[i]), {{"outcome", name(static_cast<CallOutcome>(i))}});
  all.push_back(std::move(ended));
  all.push_back(counter("moult_scheduled_call_errors_total",
                        "Those of the answered ones whose status was 400 or above: the app says that they failed.",
                        static_cast<double>(schedule.errors)));

  auto took = gauges("moult_scheduled_call_last_duration_seconds",
                     "How long the last call of a name took, with claim and wake.");
  auto late = gauges("moult_scheduled_call_last_delay_seconds",
                     "How long after its due time the last call of a name could begin: the one before ran on, or the "
                     "machine stood still.");
  for (const ScheduledCallDescription& each : schedule.calls) {
    if (!each.last || each.last->outcome == CallOutcome::claimed_elsewhere) continue;
    add(late, seconds(each.last->late), {{"name", each.name}});
    if (each.last->outcome == CallOutcome::answered) add(took, seconds(each.last->took), {{"name", each.name}});
  }
  all.push_back(std::move(took));
  all.push_back(std::move(late));
}
}  // namespace moult
