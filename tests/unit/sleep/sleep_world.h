#pragma once
// Both sleep cores on one virtual clock, beside a pool, visitors and calls that are simulated: what boots, drains and
// answers takes time, and may fail. After each step what must always hold is looked at. Used by the model (random) and
// by the days of virtual time (calm).
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>

#include "master/sleep/idle.h"
#include "master/sleep/schedule.h"
namespace moult {
class SleepWorld {
 public:
  struct Counts {
    long steps = 0, sleeps = 0, wakes = 0, failed_wakes = 0, failed_stops = 0, calls = 0, undelivered = 0, looks = 0;
    long served = 0, refused = 0, not_ours = 0, drops = 0, by_app = 0, wakes_during_stop = 0, by_call = 0;
  };
  struct Weather {  // one in so many fails; zero: none does
    unsigned boots = 0, slow_boots = 0, stops = 0, claims = 0;
  };

  SleepWorld(SchedulePolicy schedule, IdlePolicy idle_policy, std::uint64_t seed = 1);

  // --- what happens
  void visitor(Duration takes, bool upgraded = false);
  void post(const IdleEvent& event);
  void post(const ScheduleEvent& event);
  void set_clock(Duration by) { now.wall += by, clock_was_set = true; }
  void run_for(Duration time);

  std::size_t in_flight() const { return visitors.size() + upgraded_.size() + running_calls.size(); }

  std::mt19937_64 random;
  unsigned below(unsigned n) { return static_cast<unsigned>(random() % n); }
  Duration up_to(Duration most) {
    return Duration(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most.count() + 1)));
  }

  SchedulePolicy schedule_policy;
  IdlePolicy idle_policy;
  Clocks now{MonotonicTime(std::chrono::hours(1000)), WallTime(std::chrono::hours(24 * 20000))};  // a midnight, UTC
  Schedule schedule;
  Idle idle;
  Weather weather;
  Counts count;
  Duration boot_takes{}, call_takes{}, drain_takes{};
  Duration awake{}, asleep{};  // since the start, or since the test set them to zero
  bool clock_was_set = false;
  std::map<std::string, WallTime> last_due;

 private:
  void handle_idle();
  void handle_schedule();
  void perform(const Sweep&);
  void perform(const Serve&);
  void perform(const Sleep&);
  void perform(const WatchCallers&);
  void perform(const RefuseCallers&);
  void perform(const AdmitCallers&);
  void perform(const DropWarmth&);
  void perform(const Claim&);
  void perform(const Deliver&);
  void happen();  // all in the world that is due
  MonotonicTime next_happening() const;
  void first_serves();
  void end_call(const std::string& name, bool answered);
  void check();
  void check_nothing_is_overdue();  // once both have been told the time

  std::deque<IdleEvent> idle_queue_;
  std::deque<ScheduleEvent> schedule_queue_;
  bool idle_runs_ = false, schedule_runs_ = false;

  bool wanted_ = true, serving_ = true;
  MonotonicTime boots_at_ = never;  // then the first worker serves, or is rejected
  bool boot_fails_ = false, stop_fails_ = false;
  MonotonicTime drained_at_ = never;  // then the last one is gone, if nothing is in flight
  std::multiset<MonotonicTime> visitors, upgraded_;
  std::map<std::string, MonotonicTime> running_calls, waiting_calls;
  MonotonicTime last_visitor_at{}, first_waits_since_ = never, window_until_{};
  std::vector<std::pair<Duration, bool>> callers_;  // that wait for a worker
  bool watching_ = false;
};
}  // namespace moult
