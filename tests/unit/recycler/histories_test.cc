// Random histories of leaking, busy and pressed workers, in virtual time, with a pool that recycles the oldest worker
// that may go. What must hold in each: two recycles are never closer than the later one's cooldown; each hold has a
// reason and an end; a worker's holds add up to no more than the worst case that is printed at start.
#include <algorithm>
#include <map>

#include "tests/unit/recycler/recycler_test.h"

namespace moult {
namespace {
struct Simulated {
  WorkerRecord record;
  double leak_bytes_per_second, requests_per_second;
  double rss_bytes, requests = 0;
  MonotonicTime next_look;
  std::optional<Hold> hold;
  Duration bounds{};             // of the holds since it began to want to go
  unsigned others_recycled = 0;  // since then
};

struct Totals {
  std::map<Cause, unsigned> recycles;
  std::map<HoldReason, unsigned> holds;
};

class History {
 public:
  History(std::uint64_t seed, Totals& totals) : random_{seed}, totals_(totals) {
    policy_.limit = limit_policy(500 * MB);
    policy_.limit.min_runway_bytes = 50 * MB;
    policy_.by_urgency[0].cooldown = up_to(120s);
    policy_.by_urgency[1].cooldown = policy_.by_urgency[2].cooldown = policy_.by_urgency[0].cooldown / 20;
    if (below(2)) policy_.busy_requests_per_second = 10;
    policy_.defer_max = up_to(60s);
    if (below(3) == 0) policy_.max_requests = 1000;
    if (below(3) == 0) policy_.max_lifetime = 300s;
    policy_.max_requests_jitter = 100;
    policy_.min_headroom_bytes = 100 * MB;
    for (unsigned i = 1 + below(5); i > 0; --i) boot();
  }
  void run(Duration length) {
    for (const MonotonicTime end = now_ + length; now_ < end && !testing::Test::HasFatalFailure();) {
      auto next = std::ranges::min_element(workers_, {}, &Simulated::next_look);
      advance(std::max(next->next_look, now_ + 1ns));
      for (std::size_t i = 0; i < workers_.size(); ++i)
        if (workers_[i].next_look <= now_ && look(i)) break;
    }
  }

 private:
  unsigned below(unsigned n) { return static_cast<unsigned>(random_.next() % n); }
  Duration up_to(Duration most) { return 1s + random_.up_to(most); }

  void boot() {
    Simulated worker{};
    const std::uint64_t weight = 300 * MB + random_.next() % (100 * MB);
    worker.record =
        make_record(WorkerId{++last_id_}, weight, raised_limit_range(policy_.limit, weight), policy_, random_, now_);
    worker.rss_bytes = static_cast<double>(weight);
    change_weather(worker);
    worker.next_look = next_look(worker.record, policy_, now_);
    workers_.push_back(worker);
  }
  void change_weather(Simulated& worker) {
    constexpr double rates[] = {0, 0, 0, 1e5, 2e5, 1e6, 2e7, 1e8, -1e6};
    worker.leak_bytes_per_second = rates[below(std::size(rates))];
    worker.requests_per_second = below(40);
    if (below(200) == 0) worker.record.operator_request = true;
  }
  void advance(MonotonicTime to) {
    const double seconds = std::chrono::duration<double>(to - now_).count();
    now_ = to;
    for (Simulated& worker : workers_) {
      worker.rss_bytes = std::max(1e8, worker.rss_bytes + worker.leak_bytes_per_second * seconds);
      worker.requests += worker.requests_per_second * seconds;
      if (below(400) == 0) change_weather(worker);
    }
    headroom_bytes_ = below(300) ? headroom_bytes_ : (below(2) ? 50 * MB : 1000 * MB);
  }
  std::optional<Pressure> pressure() {
    std::vector<Footprint> footprints;
    for (const Simulated& worker : workers_)
      footprints.push_back(
          {worker.record.worker, static_cast<std::uint64_t>(worker.rss_bytes), worker.record.boot_rss_bytes});
    return choose_victim({headroom_bytes_, 0}, footprints, pressure_history_, policy_, now_);
  }
  // True: it was recycled.
  bool look(std::size_t index) {
    Simulated& worker = workers_[index];
    const bool precise = next_look_is_precise(worker.record, policy_);
    worker.record = observe(worker.record,
                            {static_cast<std::uint64_t>(worker.rss_bytes), static_cast<std::uint64_t>(worker.requests),
                             worker.requests_per_second, precise},
                            policy_, now_);
    const InstanceReading reading{headroom_bytes_, last_recycle_at_, pressure()};
    const Decision decision = decide(worker.record, reading, policy_, now_);
    worker.next_look = next_look(worker.record, policy_, now_);
    if (kept(decision)) forget_holds(worker);
    if (const auto* hold = std::get_if<Hold>(&decision)) remember(worker, *hold);
    const auto* recycle = std::get_if<Recycle>(&decision);
    if (recycle) recycle_it(index, *recycle);
    return recycle;
  }
  static void forget_holds(Simulated& worker) {
    worker.hold.reset();
    worker.bounds = {};
    worker.others_recycled = 0;
  }
  void remember(Simulated& worker, const Hold& hold) {
    ASSERT_GT(hold.until, now_) << "a hold without an end: " << name(hold.why);
    worker.next_look = std::min(worker.next_look, hold.until);
    const bool pressed = hold.why == HoldReason::nothing_to_free || hold.why == HoldReason::pressure_futile;
    if (pressed) {
      ASSERT_LE(hold.until, now_ + futile_pause);
      forget_holds(worker);  // that the instance has a problem is no wish of the worker's
    }
    const bool same = worker.hold && worker.hold->why == hold.why && hold.until <= worker.hold->until;
    worker.hold = hold;
    if (same || pressed) return;
    worker.bounds += hold.until - now_;
    ++totals_.holds[hold.why];
  }
  void recycle_it(std::size_t index, const Recycle& recycle) {
    const Simulated gone = workers_[index];
    ++totals_.recycles[recycle.cause];
    if (last_recycle_at_) {
      ASSERT_GE(now_ - *last_recycle_at_, policy_.rules(recycle.urgency).cooldown) << name(recycle.urgency);
    }
    const Duration worst = longest_hold(policy_, recycle.urgency, gone.others_recycled);
    if (recycle.urgency == Urgency::routine) {
      ASSERT_LE(gone.bounds, worst) << name(recycle.cause);
    } else if (recycle.urgency == Urgency::hard_limit) {
      ASSERT_LE(recycle.evidence.over_hard, worst);
    }
    if (recycle.urgency == Urgency::pressure)
      pressure_history_ = after_pressure_recycle(pressure_history_, below(2) * 500 * MB, 32 * MB, now_);
    last_recycle_at_ = now_;
    workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(index));
    for (Simulated& other : workers_) ++other.others_recycled;
    boot();
  }

  Random random_;
  Totals& totals_;
  RecyclePolicy policy_;
  MonotonicTime now_ = start;
  std::vector<Simulated> workers_;  // the oldest first
  std::optional<MonotonicTime> last_recycle_at_;
  PressureHistory pressure_history_;
  std::uint64_t headroom_bytes_ = 1000 * MB;
  std::uint64_t last_id_ = 0;
};

TEST(Histories, HoldTheirCooldownsTheirBoundsAndTheWorstCase) {
  Totals totals;
  for (std::uint64_t seed = 1; seed <= 100 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    History(seed, totals).run(1h);
  }
  for (const Cause cause : {Cause::limit, Cause::hard_limit, Cause::pressure, Cause::max_requests, Cause::max_lifetime,
                            Cause::operator_request}) {
    std::printf("%s: %u recycles\n", name(cause), totals.recycles[cause]);
    EXPECT_GT(totals.recycles[cause], 20u) << name(cause) << " hardly occurs";
  }
  for (const HoldReason why : {HoldReason::second_reading, HoldReason::cooldown, HoldReason::busy}) {
    std::printf("%s: %u holds\n", name(why), totals.holds[why]);
    EXPECT_GT(totals.holds[why], 50u) << name(why) << " hardly occurs";
  }
}
}  // namespace
}  // namespace moult
