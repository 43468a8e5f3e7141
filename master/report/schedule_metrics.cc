#include "master/report/schedule_metrics.h"
namespace moult {
namespace {
using prometheus::MetricFamily;

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

prometheus::ClientMetric labelled(const char* label, const std::string& value) {
  prometheus::ClientMetric metric;
  metric.label.push_back({label, value});
  return metric;
}
}  // namespace

std::vector<MetricFamily> schedule_metrics(const ScheduleDescription& schedule) {
  if (schedule.calls.empty()) return {};
  MetricFamily calls{
      "moult_scheduled_calls_total", "Scheduled calls that ended, by how.", prometheus::MetricType::Counter, {}};
  for (std::size_t i = 0; i < call_outcomes; ++i) {
    calls.metric.push_back(labelled("outcome", name(static_cast<CallOutcome>(i))));
    calls.metric.back().counter.value = static_cast<double>(schedule.outcomes[i]);
  }
  MetricFamily took{"moult_scheduled_call_last_duration_seconds",
                    "How long the last call of a name took, with claim and wake.",
                    prometheus::MetricType::Gauge,
                    {}};
  for (const ScheduledCallDescription& each : schedule.calls) {
    if (!each.last || each.last->outcome != CallOutcome::answered) continue;
    took.metric.push_back(labelled("name", each.name));
    took.metric.back().gauge.value = seconds(each.last->took);
  }
  return {calls, took};
}
}  // namespace moult
