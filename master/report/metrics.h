#pragma once
// What /metrics says (prometheus-cpp): counts what it hears on the loop's thread, and puts it together with what the
// parts measure themselves (measured_metrics.h). collect() makes an immutable copy, which goes with each snapshot to
// the admin threads. Owned by Reporting. All names begin with moult_.
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>

#include "master/pool/worker_observer.h"
#include "master/recycling/recycle_record.h"
#include "master/report/measured_metrics.h"
#include "master/sleep/sleep_observer.h"
namespace moult {
class Metrics : public WorkerObserver, public RecycleObserver, public SleepObserver {
 public:
  explicit Metrics(const std::string& version);
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void worker_serving(const Worker&, pid_t) override { boots_.Increment(); }
  void boot_failed(const Worker&, const Exit&) override { boot_failures_.Increment(); }
  void worker_gone(const Worker&, const Exit&) override;
  void recycled(const RecycleRecord&) override;
  void hold_started(const WorkerName&, const HeldBack&, const Evidence&) override;
  void recycle_begun(const WorkerName&, const Recycle&, const Granted&) override;
  void pressure_futile(Duration) override { pressure_futile_.Increment(); }
  void slept(const FellAsleep&) override { sleeps_.Add({{"outcome", "asleep"}}).Increment(); }
  void stop_failed(const FailedStop&) override { sleeps_.Add({{"outcome", "failed"}}).Increment(); }
  void woke(const WokeUp&) override;
  void wake_failed(const FailedWake&) override { wakes_.Add({{"outcome", "failed"}}).Increment(); }

  MetricFamilies collect(const Measured&);

 private:
  prometheus::Counter& recycles(Cause, Urgency);
  prometheus::Counter& counter(const char* name, const char* help);
  prometheus::Family<prometheus::Counter>& counters(const char* name, const char* help);
  prometheus::Histogram& histogram(const char* name, const char* help, const prometheus::Histogram::BucketBoundaries&);

  std::string version_;
  prometheus::Registry registry_;  // what is counted; what is measured is taken from the picture
  prometheus::Counter &boots_, &boot_failures_, &ungated_, &pressure_futile_;
  prometheus::Family<prometheus::Counter>&exits_, &recycles_, &holds_, &sleeps_, &wakes_;
  prometheus::Histogram &requests_, &wake_seconds_;
};

std::string metrics_text(const MetricFamilies&);  // any thread
}  // namespace moult
