#include "master/report/metrics.h"

#include <prometheus/text_serializer.h>

#include <map>
#include <sstream>

#include "master/report/event.h"
namespace moult {
namespace {
// A worker that lives for fewer requests than the alarm's default of 400 has its own buckets.
const prometheus::Histogram::BucketBoundaries request_buckets{10,   50,    100,   200,    400,    1000,
                                                              3000, 10000, 30000, 100000, 1000000};

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

// One family of measured values, made anew for each picture: what is no more there is not shown.
struct Gauges {
  prometheus::MetricFamily family;

  Gauges(const char* name, const char* help) : family{name, help, prometheus::MetricType::Gauge, {}} {}
  void add(double value, const char* label = nullptr, const std::string& of = "") {
    prometheus::ClientMetric metric;
    if (label) metric.label.push_back({label, of});
    metric.gauge.value = value;
    family.metric.push_back(std::move(metric));
  }
};

prometheus::MetricFamily gauge(const char* name, const char* help, double value) {
  Gauges one(name, help);
  one.add(value);
  return one.family;
}

// One family of what others count.
struct Counts {
  prometheus::MetricFamily family;

  Counts(const char* name, const char* help) : family{name, help, prometheus::MetricType::Counter, {}} {}
  void add(std::uint64_t value, const char* label = nullptr, const std::string& of = "") {
    prometheus::ClientMetric metric;
    if (label) metric.label.push_back({label, of});
    metric.counter.value = static_cast<double>(value);
    family.metric.push_back(std::move(metric));
  }
};

prometheus::MetricFamily count(const char* name, const char* help, std::uint64_t value) {
  Counts one(name, help);
  one.add(value);
  return one.family;
}

prometheus::MetricFamily refusals(const GateDescription& gate) {
  Counts all("moult_gate_refusals_total", "Times that the budget said no.");
  for (std::size_t i = 0; i < gate.refusals.size(); ++i)
    all.add(gate.refusals[i], "reason", name(static_cast<Refusal>(i)));
  return all.family;
}

void add_parking(std::vector<prometheus::MetricFamily>& all, const ParkingDescription& parking) {
  const ParkingCounts& counts = parking.counts;
  all.push_back(gauge("moult_connections_held", "Client connections that no worker has, between two workers.",
                      static_cast<double>(parking.held)));
  all.push_back(gauge("moult_connections_calling", "Parked connections whose clients wait for a worker.",
                      static_cast<double>(parking.callers)));
  all.push_back(count("moult_connections_parked_total", "Idle connections that workers gave up.", counts.parked));
  all.push_back(count("moult_connections_handed_over_total", "Those that another worker took.", counts.given));
  all.push_back(count("moult_connections_declined_total",
                      "Those not taken (no room, or lost on the way): their worker's.", counts.declined));
  all.push_back(count("moult_connections_refused_total", "Those whose client spoke, and got 503: no worker served.",
                      counts.refused));
  Counts closed("moult_connections_parked_closed_total",
                "Parked connections that ended: by their client, after --keep-alive, at a stop.");
  closed.add(counts.closed_by_client, "why", "client");
  closed.add(counts.timed_out, "why", "keep_alive");
  closed.add(counts.closed_at_stop, "why", "stop");
  all.push_back(closed.family);
}

prometheus::MetricFamily workers_by_state(const SupervisorDescription& pool) {
  std::map<std::string, unsigned> counted;
  for (const WorkerState state : {WorkerState::booting, WorkerState::serving, WorkerState::retiring})
    counted[state_name(state)] = 0;
  for (const WorkerDescription& worker : pool.workers) ++counted[state_name(worker.state)];
  Gauges states("moult_workers", "Workers by state.");
  for (const auto& [state, count] : counted) states.add(count, "state", state);
  return states.family;
}

prometheus::MetricFamily weights(const SupervisorDescription& pool, const RecyclingDescription& recycling) {
  Gauges rss("moult_worker_rss_bytes", "What the serving worker of a slot weighs.");
  for (const WorkerDescription& worker : pool.workers) {
    const auto memory = recycling.workers.find(worker.id);
    if (!worker.slot || worker.state != WorkerState::serving || memory == recycling.workers.end()) continue;
    rss.add(static_cast<double>(memory->second.rss_bytes), "slot", std::to_string(*worker.slot));
  }
  return rss.family;
}
}  // namespace

prometheus::Family<prometheus::Counter>& Metrics::counters(const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry_);
}
prometheus::Counter& Metrics::counter(const char* name, const char* help) { return counters(name, help).Add({}); }
Metrics::Metrics(const std::string& version)
    : version_(version),
      boots_(counter("moult_worker_boots_total", "Workers that got ready.")),
      boot_failures_(counter("moult_boot_failures_total", "Workers that ended before they were ready.")),
      ungated_(counter("moult_recycles_ungated_total", "Urgent recycles that went ahead of the budget, and are owed.")),
      exits_(
          counters("moult_worker_exits_total",
                   "Ends of workers that were ready: exit, signal, stopped (as asked), killed (hung, or too slow).")),
      recycles_(counters("moult_recycles_total", "Recycled workers that are gone, by reason.")),
      holds_(counters("moult_holds_total", "Times that a recycle began to wait, by reason.")),
      requests_(prometheus::BuildHistogram()
                    .Name("moult_recycled_worker_requests")
                    .Help("Requests that a recycled worker had served.")
                    .Register(registry_)
                    .Add({}, request_buckets)) {
  for (const Cause cause : {Cause::limit, Cause::hard_limit, Cause::pressure, Cause::max_requests, Cause::max_lifetime,
                            Cause::operator_request})
    recycles_.Add({{"reason", name(cause)}});
  for (const char* how : {"exit", "signal", "stopped", "killed"}) exits_.Add({{"how", how}});
  for (int why = 0; why <= static_cast<int>(HoldReason::store_unreachable); ++why)  // it is the last
    holds_.Add({{"reason", name(static_cast<HoldReason>(why))}});
}

void Metrics::worker_gone(const Worker& worker, const Exit& exit) {
  exits_.Add({{"how", how(worker, exit)}}).Increment();
}

void Metrics::recycled(const RecycleRecord& record) {
  recycles_.Add({{"reason", name(record.why.cause)}}).Increment();
  requests_.Observe(static_cast<double>(record.requests));
}

void Metrics::hold_started(const WorkerName&, const HeldBack& held, const Evidence&) {
  holds_.Add({{"reason", name(held.why)}}).Increment();
}

void Metrics::recycle_begun(const WorkerName&, const Recycle&, const Granted& granted) {
  if (!granted.gated) ungated_.Increment();
}

std::vector<prometheus::MetricFamily> Metrics::collect(const SupervisorDescription& pool,
                                                       const RecyclingDescription& recycling,
                                                       const GateDescription& gate, const ParkingDescription& parking) {
  std::vector<prometheus::MetricFamily> all = registry_.Collect();
  Gauges info{"moult_info", "The version that runs."};
  info.add(1, "version", version_);
  all.push_back(info.family);
  all.push_back(workers_by_state(pool));
  all.push_back(weights(pool, recycling));
  all.push_back(gauge("moult_workers_wanted", "Workers that should serve.", pool.wanted));
  if (recycling.lifetimes.samples > 0)
    all.push_back(gauge("moult_recycled_worker_requests_p10",
                        "Of the last workers that went because of memory: a tenth served at most so many requests.",
                        static_cast<double>(recycling.lifetimes.p10)));
  all.push_back(gauge("moult_lifetime_alarm", "1 while workers live too short.", recycling.alarm ? 1 : 0));
  if (recycling.headroom_bytes != no_limit)
    all.push_back(gauge("moult_headroom_bytes", "What this instance may still allocate.",
                        static_cast<double>(recycling.headroom_bytes)));
  all.push_back(gauge("moult_gate_tokens", "Replacements that the budget affords now; below zero: debt.", gate.tokens));
  all.push_back(
      gauge("moult_gate_reachable", "0 while the fleet's store does not answer or refuses.", gate.trouble.empty()));
  all.push_back(gauge("moult_gate_owed", "Ungated replacements that the store has not yet been told of.",
                      static_cast<double>(gate.owed)));
  all.push_back(refusals(gate));
  all.push_back(count("moult_gate_leases_lost_total",
                      "Leases that had ended while the worker was still being replaced.", gate.leases_lost));
  add_parking(all, parking);
  return all;
}

std::string metrics_text(const std::vector<prometheus::MetricFamily>& metrics) {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, metrics);
  return text.str();
}
}  // namespace moult
