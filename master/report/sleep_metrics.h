#pragma once
// The counts of sleeps and wakes behind /metrics. Hears of them on the loop's thread; collect() makes an immutable
// copy, which goes with each snapshot to the admin threads. Owned by Reporting.
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <vector>

#include "master/sleep/sleep_observer.h"
namespace moult {
class SleepMetrics : public SleepObserver {
 public:
  SleepMetrics();
  SleepMetrics(const SleepMetrics&) = delete;
  SleepMetrics& operator=(const SleepMetrics&) = delete;

  void slept(const FellAsleep&) override;
  void woke(const WokeUp&) override;
  void wake_failed(const FailedWake&) override;
  void stop_failed(const FailedStop&) override;

  void collect_into(std::vector<prometheus::MetricFamily>& all, const IdleDescription&);

 private:
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>&sleeps_, &wakes_;
  prometheus::Histogram& latency_;
};
}  // namespace moult
