// Random visitors, calls, failures, operators and clocks around both cores. What must hold after each step is in
// sleep_world.cc; here are the storms, and that calm follows.
#include <gtest/gtest.h>

#include "tests/unit/sleep/sleep_world.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

SchedulePolicy some_schedule(SleepWorld& dice) {
  const Duration periods[] = {10s, 47s, 1min, 5min, 10min, 1h};
  SchedulePolicy policy;
  for (unsigned i = dice.below(4); i > 0; --i)
    policy.calls.push_back({.name = std::to_string(i),
                            .when = Every{periods[dice.below(6)]},
                            .scope = dice.below(2) ? Scope::instance : Scope::fleet});
  return policy;
}

IdlePolicy some_idle(SleepWorld& dice) {
  const Duration windows[] = {500ms, 5s, 90s, 10min};
  return {.idle = windows[dice.below(4)], .wake_timeout = 20s, .stop_timeout = 60s, .warm_for = 5min};
}

SleepWorld some_world(std::uint64_t seed) {
  SleepWorld dice({}, {}, seed);
  SleepWorld world(some_schedule(dice), some_idle(dice), seed);
  world.weather = {dice.below(4), dice.below(12), dice.below(6), dice.below(4)};
  world.boot_takes = dice.up_to(5s);
  world.drain_takes = dice.below(3) ? dice.up_to(10s) : 0s;
  world.call_takes = dice.below(3) ? dice.up_to(20s) : 0s;
  return world;
}

void something(SleepWorld& w) {
  switch (w.below(14)) {
    case 0:
    case 1:
    case 2: return w.visitor(w.up_to(3s));
    case 3: return w.visitor(w.up_to(2min), true);
    case 4: return w.post(IdleEvent{OperatorSleep{}});
    case 5: return w.post(IdleEvent{OperatorWake{}});
    case 6: return w.post(IdleEvent{CodeChanged{}});
    case 7: return w.post(IdleEvent{AppDue{w.now.monotonic + w.up_to(20min)}});
    case 8: return w.schedule.calls.empty() ? void() : w.post(ScheduleEvent{RunNow{w.schedule.calls[0].name}});
    case 9: return w.below(10) ? void() : w.set_clock(w.below(2) ? w.up_to(3h) : -w.up_to(3h));
    case 10:
      for (int i = 0; i < 20; ++i) w.visitor(w.up_to(1s));
      return;
    default: return w.run_for(w.up_to(30min));
  }
}

void storm(SleepWorld& w) {
  for (int i = 0; i < 120 && !testing::Test::HasFatalFailure(); ++i) {
    w.run_for(w.up_to(w.below(3) ? 2s : 60s));
    something(w);
  }
}

// Nobody comes any more, nothing fails, and nothing is due for years: it must fall asleep; then one visitor must wake
// it.
void calm(SleepWorld& w) {
  w.weather = {};
  for (std::size_t i = 0; i < w.schedule.calls.size(); ++i) {
    w.schedule_policy.calls[i].when = Every{100'000h};
    w.schedule.calls[i].next_at = *next_after(Every{100'000h}, w.now.wall);
  }
  w.run_for(2h);
  ASSERT_EQ(w.idle.state, IdleState::asleep) << name_of(w.idle.state);
  const auto served = w.count.served;
  w.visitor(1s);
  w.run_for(w.boot_takes + 1s);
  ASSERT_EQ(w.count.served, served + 1) << "nobody woke it";
}

TEST(SleepModel, WhateverHappensNothingSleepsThatIsNeededAndNobodyIsForgotten) {
  SleepWorld::Counts sum;
  for (unsigned seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SleepWorld world = some_world(seed);
    storm(world);
    if (!testing::Test::HasFatalFailure()) calm(world);
    if (testing::Test::HasFatalFailure()) return;
    const auto& c = world.count;
    sum.steps += c.steps, sum.sleeps += c.sleeps, sum.wakes += c.wakes, sum.failed_wakes += c.failed_wakes;
    sum.failed_stops += c.failed_stops, sum.calls += c.calls, sum.undelivered += c.undelivered;
    sum.served += c.served, sum.refused += c.refused, sum.not_ours += c.not_ours, sum.drops += c.drops;
    sum.by_app += c.by_app, sum.by_call += c.by_call, sum.wakes_during_stop += c.wakes_during_stop;
  }
  // The storms reach every corner, and often.
  for (const auto& [what, count] : {std::pair{"steps", sum.steps / 100},
                                    {"sleeps", sum.sleeps},
                                    {"wakes", sum.wakes},
                                    {"failed wakes", sum.failed_wakes},
                                    {"failed stops", sum.failed_stops},
                                    {"calls", sum.calls},
                                    {"undelivered", sum.undelivered},
                                    {"served", sum.served},
                                    {"refused", sum.refused},
                                    {"claimed by others", sum.not_ours},
                                    {"warmth dropped", sum.drops},
                                    {"woken by the app", sum.by_app},
                                    {"woken by a call", sum.by_call},
                                    {"woken while stopping", sum.wakes_during_stop}})
    EXPECT_GT(count, 500) << what;
}
}  // namespace
}  // namespace moult
