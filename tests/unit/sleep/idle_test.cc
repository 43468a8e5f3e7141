#include "master/sleep/idle.h"

#include <gtest/gtest.h>

#include "tests/unit/sleep/idle_steps.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

constexpr Duration idle_window = 15min;

TEST(Idle, TheAppSleepsWhenItsWindowIsOverAndNotAMillisecondBefore) {
  IdleSteps app;
  const MonotonicTime visit = app.now + 1min;
  app.now = visit + idle_window - 1ms;
  app.post(Swept{{.last_visitor_at = visit}});
  EXPECT_EQ(app.idle.state, IdleState::active);
  EXPECT_EQ(app.idle.blocked_by, BlockedBy::window);
  EXPECT_FALSE(app.did<Sleep>());
  EXPECT_EQ(next_deadline(app.idle, app.now), visit + idle_window);
  app.pass(1ms);
  ASSERT_TRUE(app.did<Sweep>());
  app.post(Swept{{.last_visitor_at = visit}});
  EXPECT_EQ(app.idle.state, IdleState::stopping);
  ASSERT_TRUE(app.did<Sleep>());
  EXPECT_EQ(app.did<Sleep>()->why, SleepReason::idle);
  ASSERT_TRUE(app.did<WatchCallers>());
  EXPECT_TRUE(app.did<WatchCallers>()->on);
  app.post(LastGone{});
  EXPECT_EQ(app.idle.state, IdleState::asleep);
}

TEST(Idle, WhatMayHaveEndedSinceTheLastLookIsSaidOnlyWhileTheNextOneIsNear) {
  IdleSteps app;
  const auto said = [&] { return kept_awake_by(app.idle, app.policy, app.now); };
  EXPECT_EQ(said(), BlockedBy::window) << "there was no look yet";
  const MonotonicTime visit = app.now + 1min;
  app.now = visit;
  app.post(Swept{{.requests = 1, .last_visitor_at = visit}});
  EXPECT_EQ(said(), BlockedBy::window) << "nobody looks before its end, though the request ends at once";
  app.now = visit + idle_window - app.policy.look_every - 1ms;
  EXPECT_EQ(said(), BlockedBy::window);
  app.now += 1ms;
  EXPECT_EQ(said(), BlockedBy::request);
  app.now = visit + idle_window;
  app.post(Swept{{.requests = 1, .last_visitor_at = visit}});
  EXPECT_EQ(said(), BlockedBy::request) << "it is looked at every second now";
  app.post(Swept{{.last_visitor_at = visit}});
  EXPECT_EQ(said(), std::nullopt) << "it falls asleep";
}

TEST(Idle, AnAppThatNobodyEverVisitedGetsOneWindowFromItsStart) {
  IdleSteps app;
  const MonotonicTime start = app.now;
  EXPECT_EQ(next_deadline(app.idle, app.now), start + idle_window);
  app.now = start + idle_window - 1ms;
  app.post(Swept{});
  EXPECT_EQ(app.idle.state, IdleState::active);
  app.now += 1ms;
  app.post(Swept{});
  EXPECT_EQ(app.idle.state, IdleState::stopping);
}

TEST(Idle, TheGuardWantsMoreThanOneWindowUntilTheNextCall) {
  constexpr MonotonicTime now{1h};
  EXPECT_FALSE(guard_permits_sleep(now + idle_window - 1ms, idle_window, now));
  EXPECT_FALSE(guard_permits_sleep(now + idle_window, idle_window, now));
  EXPECT_TRUE(guard_permits_sleep(now + idle_window + 1ms, idle_window, now));
  EXPECT_FALSE(guard_permits_sleep(now, idle_window, now)) << "one is in hand";
  EXPECT_FALSE(guard_permits_sleep(now - 1h, idle_window, now)) << "one is late";
  EXPECT_TRUE(guard_permits_sleep(never, idle_window, now)) << "there is no schedule";
}

TEST(Idle, ACallThatIsDueWithinTheWindowKeepsTheAppAwakeUntilItWasMade) {
  IdleSteps app;
  app.now += idle_window;
  const MonotonicTime due = app.now + 30s;
  app.post(Swept{{.next_call_due = due}});
  EXPECT_EQ(app.idle.state, IdleState::active);
  EXPECT_EQ(app.idle.blocked_by, BlockedBy::call_due);
  EXPECT_EQ(next_deadline(app.idle, app.now), due);
  app.pass(30s);
  ASSERT_TRUE(app.did<Sweep>());
  app.post(Swept{{.next_call_due = app.now + 16min}});
  EXPECT_EQ(app.idle.state, IdleState::stopping);
}

TEST(Idle, WhileACallIsFarAwayItIsLookedAtEachMinuteForClocksAreSet) {
  IdleSteps app;
  app.now += idle_window;
  app.post(Swept{{.next_call_due = app.now + 10min}});
  EXPECT_EQ(next_deadline(app.idle, app.now), app.now + 1min);
}

TEST(Idle, AVisitorMovesTheClockAndACallDoesNot) {
  IdleSteps visited, called;
  const MonotonicTime start = visited.now;
  const MonotonicTime then = start + 10min;
  visited.now = called.now = then;
  called.post(CallDue{});
  visited.now = called.now = start + idle_window;
  visited.post(Swept{{.last_visitor_at = then}});
  called.post(Swept{{}});
  EXPECT_EQ(visited.idle.state, IdleState::active);
  EXPECT_EQ(called.idle.state, IdleState::stopping);
  visited.now = then + idle_window;
  visited.post(Swept{{.last_visitor_at = then}});
  EXPECT_EQ(visited.idle.state, IdleState::stopping);
}

TEST(Idle, EachThingInFlightKeepsTheAppAwakeAndIsNamed) {
  const std::pair<Activity, BlockedBy> cases[] = {{{.requests = 1}, BlockedBy::request},
                                                  {{.upgraded = 1}, BlockedBy::upgraded},
                                                  {{.calls = 1}, BlockedBy::call},
                                                  {{.undelivered = 1}, BlockedBy::undelivered},
                                                  {{.has_room_to_park = false}, BlockedBy::no_room_to_park}};
  for (const auto& [activity, why] : cases) {
    SCOPED_TRACE(name_of(why));
    IdleSteps app;
    app.now += idle_window;
    app.post(Swept{activity});
    EXPECT_EQ(app.idle.state, IdleState::active);
    EXPECT_EQ(app.idle.blocked_by, why);
    EXPECT_EQ(next_deadline(app.idle, app.now), app.now + 1s) << "it may end at any moment";
    app.pass(1s);
    EXPECT_TRUE(app.did<Sweep>());
    app.post(Swept{});
    EXPECT_EQ(app.idle.state, IdleState::stopping);
  }
}

TEST(Idle, WhatIsInFlightIsLookedAtAgainOnlyWhenTheWindowIsOverToo) {
  IdleSteps app;
  const MonotonicTime visit = app.now + 5min;
  app.now = visit;
  app.post(Swept{{.upgraded = 1, .last_visitor_at = visit}});
  EXPECT_EQ(app.idle.blocked_by, BlockedBy::upgraded) << "the WebSocket is what a person wants to know of";
  EXPECT_EQ(next_deadline(app.idle, app.now), visit + idle_window);
}

TEST(Idle, ALookThatIsNotAnsweredIsAskedForAgainAndDoesNotSpin) {
  IdleSteps app;
  app.pass(idle_window);
  EXPECT_TRUE(app.did<Sweep>());
  EXPECT_EQ(next_deadline(app.idle, app.now), app.now + 1s);
  app.post(TimePassed{});
  EXPECT_FALSE(app.did<Sweep>());
}

TEST(Idle, WithIdleOffNobodyLooksAndOnlyAnOperatorPutsItToSleep) {
  IdleSteps app;
  app.policy.idle = 0s;
  app.idle = begin(IdleState::active, app.policy, app.now).state;
  EXPECT_EQ(next_deadline(app.idle, app.now), never);
  app.now += 1000h;
  app.post(Swept{});
  EXPECT_EQ(app.idle.blocked_by, BlockedBy::switched_off);
  EXPECT_EQ(next_deadline(app.idle, app.now), never);
  app.post(OperatorSleep{});
  EXPECT_EQ(app.idle.state, IdleState::stopping);
  ASSERT_TRUE(app.did<Sleep>());
  EXPECT_EQ(app.did<Sleep>()->why, SleepReason::operator_wish);
  app.post(LastGone{});
  app.post(CallerWaits{});
  app.post(FirstServing{});
  EXPECT_EQ(next_deadline(app.idle, app.now), never);
}

TEST(Idle, TheDueTimeIsReadBeforeTheSweepSoThatACallThatRacesItIsNotCutOff) {
  IdleSteps app;
  app.now += idle_window;
  // The call falls due during the sweep: it is delivered, and the schedule goes on to the next one.
  MonotonicTime due = app.now + 1ms;
  unsigned in_flight = 0;
  const auto sweep = [&] {
    const Activity seen{.calls = in_flight};
    app.now += 1ms;
    in_flight = 1;
    due = app.now + 1h;
    return seen;
  };
  app.post(Swept{look([&] { return due; }, sweep)});
  EXPECT_EQ(in_flight, 1u);
  EXPECT_EQ(app.idle.state, IdleState::active) << "its worker would have been retired";
  EXPECT_EQ(app.idle.blocked_by, BlockedBy::call_due);
}

TEST(Idle, ACallThatComesWhileTheAppStopsWakesItAtOnce) {
  IdleSteps app;
  app.post(OperatorSleep{});
  app.post(CallDue{});
  EXPECT_EQ(app.idle.state, IdleState::waking);
  ASSERT_TRUE(app.did<Serve>());
  EXPECT_EQ(app.did<Serve>()->why, Waker::call);
  app.post(LastGone{});  // of those that had been told to go
  EXPECT_EQ(app.idle.state, IdleState::waking);
}

TEST(Idle, AnOperatorPutsItToSleepWhateverIsDueAndACallWakesItThen) {
  IdleSteps app;
  app.post(Swept{{.requests = 3, .next_call_due = app.now + 1min}});
  app.post(OperatorSleep{});
  EXPECT_EQ(app.idle.state, IdleState::stopping);
  app.post(LastGone{});
  app.now += 1min;
  app.post(CallDue{});
  EXPECT_EQ(app.idle.state, IdleState::waking);
}

TEST(Idle, AsleepNothingWarmIsKeptAfterWarmFor) {
  IdleSteps app;
  app.sleep();
  EXPECT_EQ(next_deadline(app.idle, app.now), app.now + 4h);
  app.pass(4h - 1ms);
  EXPECT_FALSE(app.did<DropWarmth>());
  app.pass(1ms);
  EXPECT_TRUE(app.did<DropWarmth>());
  EXPECT_EQ(next_deadline(app.idle, app.now), never);
  app.pass(4h);
  EXPECT_FALSE(app.did<DropWarmth>()) << "twice";
}

TEST(Idle, CodeThatIsLoadedWhileAsleepIsWarmForTheSameTime) {
  IdleSteps app;
  app.sleep();
  app.pass(4h);
  app.post(CodeChanged{});
  EXPECT_EQ(app.idle.state, IdleState::asleep);
  EXPECT_EQ(next_deadline(app.idle, app.now), app.now + 4h);
}

TEST(Idle, WithoutALimitWarmthIsKeptForGood) {
  IdleSteps app;
  app.policy.warm_for = Duration::max();
  app.sleep();
  EXPECT_FALSE(app.did<DropWarmth>());
  EXPECT_EQ(next_deadline(app.idle, app.now), never);
}

TEST(Idle, AMasterThatStartsAsleepWatchesCallersAndTheFirstOneWakesIt) {
  IdleSteps app;
  for (const IdleState saved : {IdleState::asleep, IdleState::stopping, IdleState::waking}) {
    auto started = begin(saved, app.policy, app.now);
    EXPECT_EQ(started.state.state, IdleState::asleep);
    EXPECT_EQ(next_deadline(started.state, app.now), app.now + 4h) << "of its warmth";
    ASSERT_EQ(started.actions.size(), 1u);
    EXPECT_TRUE(std::get<WatchCallers>(started.actions[0]).on);
    app.idle = started.state;
    app.post(CallerWaits{});
    EXPECT_EQ(app.idle.state, IdleState::waking);
    app.post(FirstServing{});
    EXPECT_EQ(app.idle.state, IdleState::active);
  }
  EXPECT_TRUE(begin(IdleState::active, app.policy, app.now).actions.empty());
}

TEST(Idle, EventsThatComeTooLateChangeNothing) {
  IdleSteps app;
  for (const IdleEvent& late :
       {IdleEvent{LastGone{}}, IdleEvent{StopFailed{}}, IdleEvent{FirstServing{}}, IdleEvent{WakeFailed{}},
        IdleEvent{CallerWaits{}}, IdleEvent{AppDue{app.now}}, IdleEvent{NoCallWaits{}}, IdleEvent{CodeChanged{}}}) {
    app.post(late);
    EXPECT_EQ(app.idle.state, IdleState::active);
    EXPECT_TRUE(app.done.empty());
    EXPECT_EQ(next_deadline(app.idle, app.now), app.now + idle_window);
  }
  app.sleep();
  for (const IdleEvent& late : {IdleEvent{LastGone{}}, IdleEvent{StopFailed{}}, IdleEvent{FirstServing{}},
                                IdleEvent{WakeFailed{}}, IdleEvent{Swept{}}, IdleEvent{OperatorSleep{}}}) {
    app.post(late);
    EXPECT_EQ(app.idle.state, IdleState::asleep);
    EXPECT_TRUE(app.done.empty());
  }
}
}  // namespace
}  // namespace moult
