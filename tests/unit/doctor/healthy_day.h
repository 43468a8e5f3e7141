#pragma once
// One day of two healthy instances of three workers, in virtual time: the recycler's own rules decide who goes, the
// fleet's own ledger affords it, and the event lines are written by the code that writes them in moult. Workers leak
// some 30 kB a request and have room for it.
#include <optional>
#include <string>
#include <vector>

#include "lease/ledger.h"
#include "master/report/event.h"
#include "recycler/decide.h"
#include "recycler/limit.h"
namespace moult {
class HealthyDay {
 public:
  std::vector<std::string> lines;

  HealthyDay() {
    policy_.limit = limit_policy(450 * megabyte);
    fleet_.tokens_per_hour = 6;  // 1/h/worker of six
    fleet_.rate_per = RatePer::fleet;
    for (Instance* instance : {&a_, &b_}) {
      tell(*instance, MasterStarted{"0.1.0", 1});
      for (unsigned slot = 0; slot < 3; ++slot) boot(*instance, slot);
    }
    for (const MonotonicTime end = now_ + std::chrono::hours(24); now_ < end; now_ += step) {
      look(a_);
      look(b_);
    }
  }

 private:
  static constexpr Duration step = std::chrono::seconds(1), replacement = std::chrono::seconds(2);
  static constexpr std::uint64_t boot_rss = 240 * megabyte;
  struct Living {
    WorkerRecord record;
    pid_t pid;
    double rss_bytes, requests, requests_per_second, bytes_a_request;
    std::optional<std::pair<HoldReason, MonotonicTime>> hold;
    std::vector<HeldFor> held;
  };
  struct Instance {
    std::string name;
    std::vector<Living> workers;
    std::optional<MonotonicTime> last_recycle_at;
    std::optional<std::uint64_t> lease;
    MonotonicTime lease_ends{};
  };

  void tell(const Instance& instance, const Event& event) {
    constexpr std::chrono::seconds midnight(1'788'048'000);  // of some day of 2026
    lines.push_back(event_line(event, instance.name, WallTime(midnight + now_.time_since_epoch())));
  }
  WorkerName name_of(const Instance& instance, const Living& worker) const {
    return {static_cast<unsigned>(&worker - instance.workers.data()), worker.pid, Generation{1}};
  }

  void boot(Instance& instance, unsigned slot) {
    const std::uint64_t weight = boot_rss + random_.next() % megabyte;
    const auto range = limit_range(policy_.limit, weight);
    Living worker{make_record(WorkerId{++last_id_}, weight, *range, policy_, random_, now_),
                  static_cast<pid_t>(1000 + last_id_),
                  static_cast<double>(weight),
                  0,
                  random_.between(0.5, 1.5),
                  random_.between(20e3, 40e3),
                  {},
                  {}};
    if (slot == instance.workers.size()) instance.workers.push_back(worker);
    else instance.workers[slot] = worker;
    tell(instance, WorkerReadyEvent{{slot, worker.pid, Generation{1}}});
  }

  void hold(Instance& instance, Living& worker, std::optional<Hold> now) {
    if (worker.hold && (!now || now->why != worker.hold->first)) {
      const HeldFor held{worker.hold->first, now_ - worker.hold->second};
      worker.held.push_back(held);
      tell(instance, HoldEnded{name_of(instance, worker), held});
      worker.hold.reset();
    }
    if (!now || worker.hold) return;
    worker.hold = {now->why, now_};
    tell(instance, HoldStarted{name_of(instance, worker), now->why, std::nullopt, now->evidence});
  }

  void look(Instance& instance) {
    if (instance.lease && now_ >= instance.lease_ends) {
      ask(Release{instance.name, *instance.lease});
      instance.lease.reset();
    }
    for (Living& worker : instance.workers) {
      worker.requests += worker.requests_per_second;
      worker.rss_bytes += worker.requests_per_second * worker.bytes_a_request;
      const WorkerReading reading{static_cast<std::uint64_t>(worker.rss_bytes),
                                  static_cast<std::uint64_t>(worker.requests), worker.requests_per_second, true};
      worker.record = observe(worker.record, reading, policy_, now_);
      const auto decision =
          decide(worker.record, {4000 * megabyte, instance.last_recycle_at, std::nullopt}, policy_, now_);
      if (const auto* held = std::get_if<Hold>(&decision)) hold(instance, worker, *held);
      else if (const auto* recycle = std::get_if<Recycle>(&decision)) recycle_if_granted(instance, worker, *recycle);
      else hold(instance, worker, std::nullopt);
    }
  }

  LedgerAnswer ask(const LedgerRequest& request) {
    const StoreTime now(std::chrono::duration_cast<StoreTime::duration>(now_.time_since_epoch()));
    LedgerStep next = apply(std::move(ledger_), request, {fleet_}, now);
    ledger_ = std::move(next.ledger);
    return next.answer;
  }

  void recycle_if_granted(Instance& instance, Living& worker, const Recycle& why) {
    const auto answer =
        ask(Acquire{AskId{++last_ask_}, instance.name, why.urgency, StoreTime::max(), {instance.name, 3, 3}, 0});
    const auto* granted = std::get_if<Granted>(&answer);
    if (!granted) return hold(instance, worker, Hold{HoldReason::no_tokens, never, why.evidence});
    hold(instance, worker, std::nullopt);
    instance.lease = granted->fencing_token;
    instance.lease_ends = now_ + replacement;
    RecycleRecord record{.worker = name_of(instance, worker), .why = why, .gate = *granted};
    if (instance.last_recycle_at) record.gap = now_ - *instance.last_recycle_at;
    record.holds = worker.held;
    record.over_limit = why.evidence.over_limit;
    record.over_hard = why.evidence.over_hard;
    record.lifetime = why.evidence.lifetime;
    record.requests = why.evidence.requests;
    instance.last_recycle_at = now_;
    tell(instance, WorkerRecycled{record, false});
    boot(instance, *record.worker.slot);
  }

  RecyclePolicy policy_;
  FleetPolicy fleet_;
  Ledger ledger_;
  Random random_{7};
  MonotonicTime now_{};
  std::uint64_t last_id_ = 0, last_ask_ = 0;
  Instance a_{"web-A"}, b_{"web-B"};
};
}  // namespace moult
