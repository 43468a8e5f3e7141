// Who serves, and what each weighs.
#include <map>
#include <utility>

#include "master/report/event.h"
#include "master/report/measured_metrics.h"
namespace moult {
namespace {
prometheus::MetricFamily by_state(const SupervisorDescription& pool) {
  std::map<std::string, unsigned> counted;
  for (const WorkerState state :
       {WorkerState::booting, WorkerState::spare, WorkerState::serving, WorkerState::retiring})
    counted[state_name(state)] = 0;
  for (const WorkerDescription& worker : pool.workers) ++counted[state_name(worker.state)];
  auto states = gauges("moult_workers", "Workers by state.");
  for (const auto& [state, count] : counted) add(states, count, {{"state", state}});
  return states;
}

// Of the workers that serve, by slot: there is one in each.
class BySlot {
 public:
  BySlot(const char* name, const char* help) : family_(gauges(name, help)) {}
  void add(unsigned slot, std::uint64_t bytes) {
    if (bytes != no_limit) moult::add(family_, static_cast<double>(bytes), {{"slot", std::to_string(slot)}});
  }
  void move_to(MetricFamilies& all) { all.push_back(std::move(family_)); }

 private:
  prometheus::MetricFamily family_;
};

void add_weights(MetricFamilies& all, const SupervisorDescription& pool, const RecyclingDescription& recycling) {
  BySlot rss("moult_worker_rss_bytes", "What the serving worker of a slot weighs.");
  BySlot boot_rss("moult_worker_boot_rss_bytes", "What it weighed when it was ready: its baseline.");
  BySlot limit("moult_worker_limit_bytes", "The limit that it drew: over it, it is replaced in peace.");
  BySlot hard_limit("moult_worker_hard_limit_bytes", "Over this one it is replaced urgently.");
  for (const WorkerDescription& worker : pool.workers) {
    const auto found = recycling.workers.find(worker.id);
    if (!worker.slot || worker.state != WorkerState::serving || found == recycling.workers.end()) continue;
    const WorkerMemoryDescription& memory = found->second;
    rss.add(*worker.slot, memory.rss_bytes);
    boot_rss.add(*worker.slot, memory.boot_rss_bytes);
    limit.add(*worker.slot, memory.limit_bytes);
    hard_limit.add(*worker.slot, memory.hard_limit_bytes);
  }
  for (BySlot* each : {&rss, &boot_rss, &limit, &hard_limit}) each->move_to(all);
}
}  // namespace

void add_workers(MetricFamilies& all, const Measured& now) {
  all.push_back(by_state(now.pool));
  add_weights(all, now.pool, now.recycling);
  all.push_back(gauge("moult_workers_wanted", "Workers that should serve.", now.pool.wanted));
  all.push_back(counter("moult_worker_oom_kills_total",
                        "Workers that the kernel killed for memory, as far as that can be told; they are among the "
                        "exits, or the boot failures.",
                        static_cast<double>(now.oom_kills)));
}
}  // namespace moult
