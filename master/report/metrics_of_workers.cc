// Who serves, and what each weighs.
#include <map>

#include "master/report/event.h"
#include "master/report/measured_metrics.h"
namespace moult {
namespace {
prometheus::MetricFamily by_state(const SupervisorDescription& pool) {
  std::map<std::string, unsigned> counted;
  for (const WorkerState state : {WorkerState::booting, WorkerState::serving, WorkerState::retiring})
    counted[state_name(state)] = 0;
  for (const WorkerDescription& worker : pool.workers) ++counted[state_name(worker.state)];
  auto states = gauges("moult_workers", "Workers by state.");
  for (const auto& [state, count] : counted) add(states, count, {{"state", state}});
  return states;
}

prometheus::MetricFamily weights(const SupervisorDescription& pool, const RecyclingDescription& recycling) {
  auto rss = gauges("moult_worker_rss_bytes", "What the serving worker of a slot weighs.");
  for (const WorkerDescription& worker : pool.workers) {
    const auto memory = recycling.workers.find(worker.id);
    if (!worker.slot || worker.state != WorkerState::serving || memory == recycling.workers.end()) continue;
    add(rss, static_cast<double>(memory->second.rss_bytes), {{"slot", std::to_string(*worker.slot)}});
  }
  return rss;
}
}  // namespace

void add_workers(MetricFamilies& all, const SupervisorDescription& pool, const RecyclingDescription& recycling) {
  all.push_back(by_state(pool));
  all.push_back(weights(pool, recycling));
  all.push_back(gauge("moult_workers_wanted", "Workers that should serve.", pool.wanted));
}
}  // namespace moult
