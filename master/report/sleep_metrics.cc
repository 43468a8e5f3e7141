#include "master/report/sleep_metrics.h"

#include <utility>
namespace moult {
namespace {
using prometheus::MetricFamily;

// A spare wakes within milliseconds, a fork server within some hundreds, a load from disk within seconds.
const prometheus::Histogram::BucketBoundaries latency_buckets{0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                              0.5,   1,    2.5,   5,    10,  30};

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

MetricFamily states(IdleState now) {
  MetricFamily family{"moult_idle_state", "1 for the state that the app is in.", prometheus::MetricType::Gauge, {}};
  for (const IdleState each : {IdleState::active, IdleState::stopping, IdleState::asleep, IdleState::waking}) {
    prometheus::ClientMetric metric;
    metric.label.push_back({"state", std::string(name_of(each))});
    metric.gauge.value = each == now ? 1 : 0;
    family.metric.push_back(std::move(metric));
  }
  return family;
}

MetricFamily awake(Duration time) {
  MetricFamily family{"moult_awake_seconds_total",
                      "Time since the start in which the app was not asleep.",
                      prometheus::MetricType::Counter,
                      {}};
  prometheus::ClientMetric metric;
  metric.counter.value = seconds(time);
  family.metric.push_back(std::move(metric));
  return family;
}
}  // namespace

SleepMetrics::SleepMetrics()
    : sleeps_(prometheus::BuildCounter()
                  .Name("moult_sleeps_total")
                  .Help("Attempts to sleep: asleep, or failed (a hook, a worker that cannot be killed, ...).")
                  .Register(registry_)),
      wakes_(prometheus::BuildCounter()
                 .Name("moult_wakes_total")
                 .Help("Wakes: awake, or failed (callers got 503).")
                 .Register(registry_)),
      latency_(prometheus::BuildHistogram()
                   .Name("moult_wake_seconds")
                   .Help("From the first caller until a worker serves.")
                   .Register(registry_)
                   .Add({}, latency_buckets)) {
  for (const char* outcome : {"asleep", "failed"}) sleeps_.Add({{"outcome", outcome}});
  for (const char* outcome : {"awake", "failed"}) wakes_.Add({{"outcome", outcome}});
}

void SleepMetrics::slept(const FellAsleep&) { sleeps_.Add({{"outcome", "asleep"}}).Increment(); }
void SleepMetrics::stop_failed(const FailedStop&) { sleeps_.Add({{"outcome", "failed"}}).Increment(); }
void SleepMetrics::wake_failed(const FailedWake&) { wakes_.Add({{"outcome", "failed"}}).Increment(); }

void SleepMetrics::woke(const WokeUp& wake) {
  wakes_.Add({{"outcome", "awake"}}).Increment();
  latency_.Observe(seconds(wake.latency));
}

void SleepMetrics::collect_into(std::vector<MetricFamily>& all, const IdleDescription& idle) {
  for (MetricFamily& family : registry_.Collect()) all.push_back(std::move(family));
  all.push_back(states(idle.state));
  all.push_back(awake(idle.awake));
}
}  // namespace moult
