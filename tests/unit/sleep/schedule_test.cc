#include "master/sleep/schedule.h"

#include <gtest/gtest.h>

#include "master/sleep/time_zone.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

constexpr WallTime midnight{24h * 20000};  // UTC

struct Calls {
  SchedulePolicy policy;
  Clocks now{MonotonicTime(1000h), midnight + 2min};
  Schedule schedule;
  std::vector<ScheduleAction> done = {};  // by the last event

  explicit Calls(std::vector<ScheduledCall> calls) : policy{std::move(calls)}, schedule(begin(policy, now)) {}
  explicit Calls(Duration period, Scope scope = Scope::instance)
      : Calls({{.name = "a", .when = Every{period}, .scope = scope}}) {}

  void post(const ScheduleEvent& event) {
    auto step = transition(std::move(schedule), event, policy, now);
    schedule = std::move(step.state);
    done = std::move(step.actions);
  }
  void pass(Duration by) {
    now.monotonic += by;
    now.wall += by;
    post(TimePassed{});
  }
  const Call& call(std::size_t i = 0) const { return schedule.calls.at(i); }
  std::optional<WallTime> delivered() const {
    if (done.empty() || !std::holds_alternative<Deliver>(done[0])) return std::nullopt;
    return std::get<Deliver>(done[0]).due;
  }
  std::optional<WallTime> claimed() const {
    if (done.empty() || !std::holds_alternative<Claim>(done[0])) return std::nullopt;
    return std::get<Claim>(done[0]).due;
  }
};

TEST(Every, IsDueAtTheMultiplesOfItsPeriodWheneverItWasStarted) {
  EXPECT_EQ(next_after(Every{5min}, midnight), midnight + 5min);
  EXPECT_EQ(next_after(Every{5min}, midnight + 1ns), midnight + 5min);
  EXPECT_EQ(next_after(Every{5min}, midnight + 5min - 1ns), midnight + 5min);
  EXPECT_EQ(next_after(Every{24h}, midnight + 3h), midnight + 24h);
  EXPECT_EQ(next_after(Every{7s}, WallTime{-1s}), WallTime{});
  EXPECT_EQ(next_after(Every{7s}, WallTime{-7s}), WallTime{});
  EXPECT_EQ(next_after(Every{7s}, WallTime{}), WallTime{7s});
  EXPECT_EQ(next_after(Every{24h}, WallTime::max() - 1h), std::nullopt);
}

TEST(Schedule, ACallIsDeliveredWhenItIsDueAndNotAMillisecondBefore) {
  Calls calls(5min);
  EXPECT_EQ(next_due(calls.schedule), midnight + 5min);
  calls.pass(3min - 1ms);
  EXPECT_FALSE(calls.delivered());
  EXPECT_EQ(next_deadline(calls.schedule, calls.policy, calls.now), calls.now.monotonic + 1ms);
  calls.pass(1ms);
  EXPECT_EQ(calls.delivered(), midnight + 5min);
  EXPECT_EQ(calls.call().state, CallState::running);
  EXPECT_EQ(calls.call().last_status, std::nullopt);
  calls.pass(2s);
  EXPECT_TRUE(calls.done.empty());
  calls.post(Answered{"a", 204});
  EXPECT_EQ(calls.call().state, CallState::waiting);
  EXPECT_EQ(calls.call().last_status, 204);
  EXPECT_EQ(calls.call().next_at, midnight + 10min) << "anchored, not 5 min after its end";
}

TEST(Schedule, WhatWasDueInTheMomentOfTheStartOrBeforeIsNotMadeUpFor) {
  Calls calls(2min);
  calls.post(TimePassed{});
  EXPECT_TRUE(calls.done.empty());
  EXPECT_EQ(calls.call().next_at, midnight + 4min);
}

TEST(Schedule, AnUndeliveredCallCarriesNoStatus) {
  Calls calls(5min);
  calls.pass(3min);
  calls.post(Answered{"a", 200});
  calls.pass(5min);
  calls.post(Undelivered{"a"});
  EXPECT_EQ(calls.call().state, CallState::waiting);
  EXPECT_EQ(calls.call().last_status, std::nullopt);
}

TEST(Schedule, CallsDoNotOverlapAndWhatFellDueMeanwhileIsMadeUpForOnce) {
  Calls calls(5min);
  calls.pass(3min);
  calls.pass(17min);  // it runs through the times 10, 15, 20
  EXPECT_TRUE(calls.done.empty());
  calls.pass(1min);
  calls.post(Answered{"a", 200});
  EXPECT_EQ(calls.delivered(), midnight + 10min) << "the first that was missed";
  calls.pass(1s);
  calls.post(Answered{"a", 200});
  EXPECT_TRUE(calls.done.empty()) << "once";
  EXPECT_EQ(calls.call().next_at, midnight + 25min);
}

TEST(Schedule, AMachineThatStoodStillMakesUpForAllThatItMissedByOneCall) {
  Calls calls({{"a", Every{5min}}, {"b", Every{1h}}, {"c", Every{24h}}});
  calls.now.wall += 100h;  // and the monotonic clock stood still
  calls.post(TimePassed{});
  ASSERT_EQ(calls.done.size(), 3u);
  for (const auto* name : {"a", "b", "c"}) calls.post(Answered{name, 200});
  EXPECT_TRUE(calls.done.empty());
  for (const Call& each : calls.schedule.calls) EXPECT_GT(each.next_at, calls.now.wall);
}

TEST(Schedule, AClockThatIsSetIsNoticedWithinAMinute) {
  Calls calls(1h);
  EXPECT_EQ(next_deadline(calls.schedule, calls.policy, calls.now), calls.now.monotonic + 1min);
}

TEST(Schedule, AClockThatIsSetBackDoesNotLeaveACallHoursAway) {
  Calls calls(5min);
  calls.pass(3min);
  calls.post(Answered{"a", 200});
  calls.now.wall -= 10h;
  calls.post(TimePassed{});
  EXPECT_TRUE(calls.done.empty());
  EXPECT_EQ(calls.call().next_at, midnight + 10min - 10h);
}

TEST(Schedule, AClockThatIsSetBackWhileACallRunsIsNoticedToo) {
  Calls calls(5min);
  calls.pass(3min);
  calls.now.wall -= 10h;
  calls.post(TimePassed{});
  calls.pass(1s);
  calls.post(Answered{"a", 200});
  EXPECT_EQ(calls.call().next_at, midnight + 10min - 10h);
}

TEST(Schedule, AClockThatIsCorrectedByALittleFiresNothingTwice) {
  for (const Duration back : {Duration(1ms), Duration(2s), Duration(5min - 1ms)}) {
    Calls calls(5min);
    calls.pass(3min);
    EXPECT_EQ(calls.delivered(), midnight + 5min);
    calls.post(Answered{"a", 200});
    calls.now.wall -= back;
    calls.post(TimePassed{});
    calls.pass(back);
    EXPECT_TRUE(calls.done.empty());
    calls.pass(5min);
    EXPECT_EQ(calls.delivered(), midnight + 10min);
  }
}

TEST(Schedule, ALateCallThatStoodForSeveralIsNotRepeatedByACorrectionEither) {
  Calls calls(5min);
  calls.pass(3min);
  calls.pass(5min);  // 10:00 falls due while 5:00 runs
  calls.post(Answered{"a", 200});
  EXPECT_EQ(calls.delivered(), midnight + 10min);
  calls.post(Answered{"a", 200});
  calls.now.wall -= 1ms;
  calls.post(TimePassed{});
  calls.pass(1ms);
  EXPECT_TRUE(calls.done.empty());
}

TEST(Schedule, AClaimComesBeforeACallOfTheFleet) {
  Calls calls(5min, Scope::fleet);
  calls.pass(3min);
  EXPECT_EQ(calls.claimed(), midnight + 5min);
  EXPECT_EQ(calls.call().state, CallState::claiming);
  calls.post(Claimed{"a", true});
  EXPECT_EQ(calls.delivered(), midnight + 5min);
  EXPECT_EQ(calls.call().state, CallState::running);
}

TEST(Schedule, AnothersClaimLeavesTheCallToItAndTheNextOneIsClaimedAgain) {
  Calls calls(5min, Scope::fleet);
  calls.pass(3min);
  calls.post(Claimed{"a", false});
  EXPECT_TRUE(calls.done.empty());
  EXPECT_EQ(calls.call().state, CallState::waiting);
  EXPECT_EQ(calls.call().last_status, std::nullopt);
  calls.pass(5min);
  EXPECT_EQ(calls.claimed(), midnight + 10min);
}

TEST(Schedule, NoSecondClaimIsMadeWhileOneIsOpen) {
  Calls calls(5min, Scope::fleet);
  calls.pass(3min);
  calls.pass(10min);
  EXPECT_TRUE(calls.done.empty());
  calls.post(Claimed{"a", false});
  EXPECT_EQ(calls.claimed(), midnight + 10min);
}

TEST(Schedule, ARunByHandIsACallThatTakesNoDueTimesPlaceAndNeedsNoClaim) {
  Calls calls(5min, Scope::fleet);
  const WallTime asked = calls.now.wall;
  calls.post(RunNow{"a"});
  EXPECT_EQ(calls.delivered(), asked);
  EXPECT_TRUE(calls.call().by_hand);
  EXPECT_EQ(calls.call().next_at, midnight + 5min);
  calls.post(RunNow{"a"});
  EXPECT_TRUE(calls.done.empty()) << "no overlap";
  calls.pass(4min);
  EXPECT_TRUE(calls.done.empty()) << "not beside a due one either";
  calls.post(Answered{"a", 200});
  EXPECT_EQ(calls.claimed(), midnight + 5min);
  EXPECT_FALSE(calls.call().by_hand);
}

TEST(Schedule, ARunByHandInTheMomentOfADueTimeDoesNotTakeItsPlace) {
  Calls calls(5min);
  calls.now.wall += 3min;
  calls.now.monotonic += 3min;
  calls.post(RunNow{"a"});
  ASSERT_EQ(calls.done.size(), 1u);
  EXPECT_EQ(calls.delivered(), midnight + 5min);
  EXPECT_FALSE(calls.call().by_hand);
}

TEST(Schedule, EntriesAreCalledIndependently) {
  Calls calls({{"a", Every{5min}}, {"b", Every{5min}}});
  calls.pass(3min);
  EXPECT_EQ(calls.done.size(), 2u);
  calls.post(Answered{"b", 500});
  EXPECT_EQ(calls.call(0).state, CallState::running);
  EXPECT_EQ(calls.call(1).state, CallState::waiting);
  EXPECT_EQ(calls.call(1).last_status, 500);
  calls.pass(5min);
  ASSERT_EQ(calls.done.size(), 1u);
  EXPECT_EQ(std::get<Deliver>(calls.done[0]).name, "b");
}

TEST(Schedule, ACallInHandIsDueUntilItIsOverSoThatTheGuardSeesIt) {
  Calls calls(5min, Scope::fleet);
  EXPECT_EQ(next_call_due(calls.schedule, calls.now), calls.now.monotonic + 3min);
  calls.pass(3min);
  ASSERT_EQ(calls.call().state, CallState::claiming);
  EXPECT_EQ(next_call_due(calls.schedule, calls.now), calls.now.monotonic);
  calls.post(Claimed{"a", true});
  calls.pass(1min);
  EXPECT_EQ(next_due(calls.schedule), midnight + 5min);
  EXPECT_EQ(next_call_due(calls.schedule, calls.now), calls.now.monotonic);
  calls.post(Answered{"a", 200});
  EXPECT_EQ(next_call_due(calls.schedule, calls.now), calls.now.monotonic + 4min);
}

TEST(Schedule, ACallInHandIsDueAlsoWhenTheClockIsSetBackMeanwhile) {
  Calls calls(1h);
  calls.pass(58min);
  calls.now.wall -= 10h + 30min;
  calls.post(TimePassed{});
  ASSERT_EQ(calls.call().state, CallState::running);
  EXPECT_EQ(next_call_due(calls.schedule, calls.now), calls.now.monotonic);
}

TEST(Schedule, TheNearestOfSeveralIsTheNextOne) {
  Calls calls({{"a", Every{1h}}, {"b", Every{5min}}, {"c", Every{24h}}});
  EXPECT_EQ(next_due(calls.schedule), midnight + 5min);
}

TEST(Schedule, WithoutEntriesNothingIsEverDue) {
  Calls calls(std::vector<ScheduledCall>{});
  EXPECT_EQ(next_due(calls.schedule), std::nullopt);
  EXPECT_EQ(next_call_due(calls.schedule, calls.now), never);
  EXPECT_EQ(next_deadline(calls.schedule, calls.policy, calls.now), never);
}

TEST(Schedule, AnAnswerThatNobodyWaitsForChangesNothing) {
  Calls calls(5min);
  for (const ScheduleEvent& late :
       {ScheduleEvent{Answered{"a", 200}}, ScheduleEvent{Answered{"x", 200}}, ScheduleEvent{Claimed{"a", true}},
        ScheduleEvent{Undelivered{"a"}}, ScheduleEvent{RunNow{"x"}}}) {
    calls.post(late);
    EXPECT_TRUE(calls.done.empty());
    EXPECT_EQ(calls.call().state, CallState::waiting);
    EXPECT_EQ(calls.call().last_status, std::nullopt);
  }
}

TEST(Schedule, ACronLineIsServedLikeAnyOther) {
  const auto cron = parse_cron("30 3 * * *");
  ASSERT_TRUE(cron);
  Calls calls({{"nightly", CronTimes{*cron, *find_time_zone("UTC")}}});
  calls.pass(3h + 28min);
  EXPECT_EQ(calls.delivered(), midnight + 3h + 30min);
  calls.post(Answered{"nightly", 200});
  EXPECT_EQ(calls.call().next_at, midnight + 27h + 30min);
}
}  // namespace
}  // namespace moult
