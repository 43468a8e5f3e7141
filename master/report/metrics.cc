#include "master/report/metrics.h"

#include <prometheus/text_serializer.h>

#include <sstream>
#include <utility>
namespace moult {
namespace {
// A worker that lives for fewer requests than the alarm's default of 400 has its own buckets.
const prometheus::Histogram::BucketBoundaries request_buckets{10,   50,    100,   200,    400,    1000,
                                                              3000, 10000, 30000, 100000, 1000000};
// A spare wakes within milliseconds, a fork server within some hundreds, a load from disk within seconds.
const prometheus::Histogram::BucketBoundaries wake_buckets{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};

// "signal": by one that we did not send; "stopped": as asked; else by itself.
const char* how(const Worker& worker, const Exit& exit) {
  switch (worker.state) {
    case WorkerState::retiring:
    case WorkerState::terminating: return "stopped";
    case WorkerState::aborting:
    case WorkerState::killed: return "killed";
    case WorkerState::booting:
    case WorkerState::spare:
    case WorkerState::serving: break;
  }
  return exit.signal ? "signal" : "exit";
}
}  // namespace

prometheus::Family<prometheus::Counter>& Metrics::counters(const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry_);
}
prometheus::Counter& Metrics::counter(const char* name, const char* help) { return counters(name, help).Add({}); }
prometheus::Histogram& Metrics::histogram(const char* name, const char* help,
                                          const prometheus::Histogram::BucketBoundaries& bounds) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry_).Add({}, bounds);
}
Metrics::Metrics(const std::string& version)
    : version_(version),
      boots_(counter("moult_worker_boots_total", "Workers that got ready.")),
      boot_failures_(counter("moult_boot_failures_total", "Workers that ended before they were ready.")),
      ungated_(counter("moult_recycles_ungated_total", "Urgent recycles that went ahead of the budget, and are owed.")),
      pressure_futile_(counter("moult_pressure_futile_total",
                               "Times that replacing under memory pressure helped nobody, and stopped for a while.")),
      exits_(
          counters("moult_worker_exits_total",
                   "Ends of workers that were ready: exit, signal, stopped (as asked), killed (hung, or too slow).")),
      recycles_(counters("moult_recycles_total", "Recycled workers that are gone, by reason and urgency.")),
      holds_(counters("moult_holds_total", "Times that a recycle began to wait, by reason.")),
      sleeps_(counters("moult_sleeps_total",
                       "Attempts to sleep: asleep, or failed (a hook, a worker that cannot be killed, ...).")),
      wakes_(counters("moult_wakes_total", "Wakes: awake, or failed (callers got 503).")),
      requests_(
          histogram("moult_recycled_worker_requests", "Requests that a recycled worker had served.", request_buckets)),
      wake_seconds_(histogram("moult_wake_seconds", "From the first caller until a worker serves.", wake_buckets)) {
  for (const Cause cause : {Cause::limit, Cause::max_requests, Cause::max_lifetime, Cause::operator_request})
    recycles(cause, Urgency::routine);
  recycles(Cause::hard_limit, Urgency::hard_limit);
  recycles(Cause::pressure, Urgency::pressure);
  for (const char* how : {"exit", "signal", "stopped", "killed"}) exits_.Add({{"how", how}});
  for (int why = 0; why <= static_cast<int>(HoldReason::store_unreachable); ++why)  // it is the last
    holds_.Add({{"reason", name(static_cast<HoldReason>(why))}});
  for (const char* outcome : {"asleep", "failed"}) sleeps_.Add({{"outcome", outcome}});
  for (const char* outcome : {"awake", "failed"}) wakes_.Add({{"outcome", outcome}});
}

void Metrics::worker_gone(const Worker& worker, const Exit& exit) {
  exits_.Add({{"how", how(worker, exit)}}).Increment();
}

prometheus::Counter& Metrics::recycles(Cause cause, Urgency urgency) {
  return recycles_.Add({{"reason", name(cause)}, {"urgency", name(urgency)}});
}

void Metrics::recycled(const RecycleRecord& record) {
  recycles(record.why.cause, record.why.urgency).Increment();
  requests_.Observe(static_cast<double>(record.requests));
}

void Metrics::hold_started(const WorkerName&, const HeldBack& held, const Evidence&) {
  holds_.Add({{"reason", name(held.why)}}).Increment();
}

void Metrics::recycle_begun(const WorkerName&, const Recycle&, const Granted& granted) {
  if (!granted.gated) ungated_.Increment();
}

void Metrics::woke(const WokeUp& wake) {
  wakes_.Add({{"outcome", "awake"}}).Increment();
  wake_seconds_.Observe(std::chrono::duration<double>(wake.latency).count());
}

MetricFamilies Metrics::collect(const Measured& now) {
  MetricFamilies all = registry_.Collect();
  auto info = gauges("moult_info", "The version that runs.");
  add(info, 1, {{"version", version_}});
  all.push_back(std::move(info));
  add_workers(all, now);
  add_recycling(all, now.recycling);
  add_gate(all, now.gate);
  add_connections(all, now.parking);
  add_delivery(all, now.delivery);
  add_schedule(all, now.schedule);
  add_sleep(all, now.idle);
  add_lost_lines(all, now.lost);
  return all;
}

std::string metrics_text(const MetricFamilies& metrics) {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, metrics);
  return text.str();
}
}  // namespace moult
