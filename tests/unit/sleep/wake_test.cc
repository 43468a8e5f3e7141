// Waking, and what becomes of callers when it fails.
#include <gtest/gtest.h>

#include "master/pool/pool.h"
#include "tests/unit/sleep/idle_steps.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

TEST(Wake, OneAttemptHoweverManyCallersAndOneBudgetFromTheFirst) {
  IdleSteps app;
  app.sleep();
  app.post(CallerWaits{});
  ASSERT_TRUE(app.did<Serve>());
  EXPECT_EQ(app.did<Serve>()->why, Waker::caller);
  const MonotonicTime end = app.now + 30s;
  for (int i = 0; i < 100; ++i) {
    app.now += 100ms;
    app.post(CallerWaits{});
    EXPECT_TRUE(app.done.empty());
    EXPECT_EQ(next_deadline(app.idle, app.now), end);
  }
  app.now = end - 1ms;
  app.post(TimePassed{});
  EXPECT_EQ(app.idle.state, IdleState::waking);
  app.pass(1ms);
  EXPECT_EQ(app.idle.state, IdleState::stopping);
  ASSERT_TRUE(app.did<Sleep>());
  EXPECT_EQ(app.did<Sleep>()->why, SleepReason::failed_wake);
  ASSERT_TRUE(app.did<RefuseCallers>());
  app.post(LastGone{});
  EXPECT_EQ(app.idle.state, IdleState::asleep);
}

TEST(Wake, AWorkerThatServesInTheLastMomentIsTaken) {
  IdleSteps app;
  app.sleep();
  app.post(CallerWaits{});
  app.now += 30s;
  app.post(FirstServing{});
  EXPECT_EQ(app.idle.state, IdleState::active);
}

TEST(Wake, ACallerDuringAStopHasOneBudgetFromItsCallWhateverTheStopTakes) {
  IdleSteps app;
  app.post(OperatorSleep{});
  app.now += 20s;
  app.post(CallerWaits{});
  EXPECT_EQ(app.idle.state, IdleState::waking);
  EXPECT_EQ(next_deadline(app.idle, app.now), app.now + 30s);
  app.now += 10s;
  app.post(CallerWaits{});
  app.post(LastGone{});
  EXPECT_EQ(next_deadline(app.idle, app.now), app.now + 20s) << "from the first, not from the second";
  app.pass(20s);
  EXPECT_TRUE(app.did<RefuseCallers>());
}

TEST(Wake, TheFirstThatServesMakesTheAppActiveForOneWindowWhoeverWokeIt) {
  for (const IdleEvent& waker : {IdleEvent{CallerWaits{}}, IdleEvent{CallDue{}}, IdleEvent{OperatorWake{}}}) {
    IdleSteps app;
    app.sleep();
    app.now += 10h;
    app.post(waker);
    app.now += 2s;
    app.post(FirstServing{});
    EXPECT_EQ(app.idle.state, IdleState::active);
    ASSERT_TRUE(app.did<WatchCallers>());
    EXPECT_FALSE(app.did<WatchCallers>()->on);
    EXPECT_TRUE(app.did<Sweep>()) << "what keeps it awake is known at once";
    app.now += 15min - 1ms;
    app.post(Swept{});
    EXPECT_EQ(app.idle.state, IdleState::active);
    app.now += 1ms;
    app.post(Swept{});
    EXPECT_EQ(app.idle.state, IdleState::stopping);
  }
}

TEST(Wake, AnOperatorsWakeOfAnAppThatIsAwakeGivesItAWindowToo) {
  IdleSteps app;
  app.now += 10min;
  app.post(OperatorWake{});
  app.now += 15min - 1ms;
  app.post(Swept{});
  EXPECT_EQ(app.idle.state, IdleState::active);
  app.now += 1ms;
  app.post(Swept{});
  EXPECT_EQ(app.idle.state, IdleState::stopping);
}

TEST(Wake, AnOperatorsSleepWhileItWakesChangesNothing) {
  IdleSteps app;
  app.sleep();
  app.post(CallerWaits{});
  app.post(OperatorSleep{});
  EXPECT_EQ(app.idle.state, IdleState::waking);
  EXPECT_TRUE(app.done.empty());
}

TEST(FailedWake, DelaysDoubleFromOneSecondToThirty) {
  IdleSteps app;
  app.sleep();
  for (const Duration delay : {1s, 2s, 4s, 8s, 16s, 30s, 30s, 30s}) {
    app.post(CallerWaits{});
    ASSERT_EQ(app.idle.state, IdleState::waking);
    app.post(WakeFailed{});
    ASSERT_TRUE(app.did<RefuseCallers>());
    EXPECT_EQ(app.did<RefuseCallers>()->until, app.now + delay);
    app.post(LastGone{});
    ASSERT_EQ(app.idle.state, IdleState::asleep);
    app.pass(delay);
  }
  for (int i = 0; i < 100; ++i) {
    app.fail_a_wake();
    app.pass(30s);
  }
  EXPECT_EQ(app.idle.wake.retry_at, app.now) << "never longer, however often";
}

TEST(FailedWake, AHundredCallersInItsWindowAreRefusedAndStartExactlyOneAttemptWhenItIsOver) {
  IdleSteps app;
  app.sleep();
  app.fail_a_wake();
  const MonotonicTime end = app.now + 1s;
  int attempts = 0, refused = 0;
  for (int i = 0; i < 100; ++i) {
    app.now = end - 1s + i * 10ms;
    app.post(CallerWaits{});
    attempts += app.did<Serve>() != nullptr;
    if (const auto* refuses = app.did<RefuseCallers>()) {
      ++refused;
      EXPECT_EQ(refuses->until, end);
    }
  }
  EXPECT_EQ(attempts, 0);
  EXPECT_EQ(refused, 100);
  app.now = end;
  for (int i = 0; i < 100; ++i) {
    app.post(CallerWaits{});
    attempts += app.did<Serve>() != nullptr;
    EXPECT_FALSE(app.did<RefuseCallers>());
  }
  EXPECT_EQ(attempts, 1);
}

TEST(FailedWake, NobodyWakesAnAppByHavingBeenRefused) {
  IdleSteps app;
  app.sleep();
  app.fail_a_wake();
  app.post(CallerWaits{});
  EXPECT_EQ(next_deadline(app.idle, app.now), app.now + 4h) << "of its warmth";
  app.pass(1h);
  EXPECT_EQ(app.idle.state, IdleState::asleep);
}

TEST(FailedWake, CallersAreRefusedAsWellWhileWhatWasBegunStillStops) {
  IdleSteps app;
  app.sleep();
  app.post(CallerWaits{});
  app.post(WakeFailed{});
  EXPECT_EQ(app.idle.state, IdleState::stopping);
  app.now += 1s - 1ms;
  app.post(CallerWaits{});
  EXPECT_EQ(app.idle.state, IdleState::stopping);
  EXPECT_TRUE(app.did<RefuseCallers>());
  app.now += 1ms;
  app.post(CallerWaits{});
  EXPECT_EQ(app.idle.state, IdleState::waking);
}

TEST(FailedWake, ACallThatWaitsIsTriedAgainByItselfAndNotOnceItWasGivenUp) {
  IdleSteps app;
  app.sleep();
  app.post(CallDue{});
  app.post(WakeFailed{});
  app.post(LastGone{});
  EXPECT_EQ(next_deadline(app.idle, app.now), app.now + 1s);
  app.pass(1s - 1ms);
  EXPECT_EQ(app.idle.state, IdleState::asleep);
  app.pass(1ms);
  EXPECT_EQ(app.idle.state, IdleState::waking);
  EXPECT_EQ(app.did<Serve>()->why, Waker::call);
  app.post(WakeFailed{});
  app.post(LastGone{});
  app.post(NoCallWaits{});
  EXPECT_EQ(next_deadline(app.idle, app.now), app.now + 4h);
  app.pass(2s);
  EXPECT_EQ(app.idle.state, IdleState::asleep);
}

TEST(FailedWake, AnOperatorSupersedesItsWindow) {
  IdleSteps app;
  app.sleep();
  app.fail_a_wake();
  app.post(OperatorWake{});
  EXPECT_EQ(app.idle.state, IdleState::waking);
  EXPECT_TRUE(app.did<AdmitCallers>());
  EXPECT_EQ(app.did<Serve>()->why, Waker::operator_wish);
}

TEST(FailedWake, NewCodeSupersedesItsWindowAndItsHistory) {
  IdleSteps app;
  app.sleep();
  for (const Duration delay : {1s, 2s, 4s}) {
    app.fail_a_wake();
    app.now += delay;
  }
  app.fail_a_wake();
  app.post(CodeChanged{});
  EXPECT_TRUE(app.did<AdmitCallers>());
  app.post(CallerWaits{});
  EXPECT_EQ(app.idle.state, IdleState::waking);
  app.post(WakeFailed{});
  EXPECT_EQ(app.did<RefuseCallers>()->until, app.now + 1s);
  app.now += 1s;
  app.post(CodeChanged{});
  EXPECT_FALSE(app.did<AdmitCallers>()) << "the window was over";
}

TEST(FailedWake, IsForgottenByTheFirstThatServes) {
  IdleSteps app;
  app.sleep();
  app.fail_a_wake();
  app.now += 1s;
  app.post(CallerWaits{});
  app.post(FirstServing{});
  app.sleep();
  app.fail_a_wake();
  EXPECT_EQ(app.idle.wake.retry_at, app.now + 1s);
}

TEST(FailedStop, MakesTheAppActiveAndIsNotTriedAgainBeforeItsBackOff) {
  IdleSteps app;
  app.now += 15min;
  for (const Duration delay : {30s, 60s, 120s, 240s, 480s, 960s, 1800s, 1800s}) {
    app.post(Swept{});
    ASSERT_EQ(app.idle.state, IdleState::stopping);
    app.now += 3s;
    app.post(StopFailed{});
    EXPECT_EQ(app.idle.state, IdleState::active);
    ASSERT_TRUE(app.did<Serve>());
    EXPECT_FALSE(app.did<Serve>()->why);
    EXPECT_FALSE(app.did<WatchCallers>()->on);
    app.now += delay - 1ms;
    app.post(Swept{});
    EXPECT_EQ(app.idle.state, IdleState::active);
    EXPECT_EQ(app.idle.blocked_by, BlockedBy::failed_stop);
    EXPECT_EQ(next_deadline(app.idle, app.now), app.now + 1ms);
    app.now += 1ms;
  }
  app.post(Swept{});
  app.post(LastGone{});
  EXPECT_EQ(app.idle.state, IdleState::asleep);
  EXPECT_EQ(app.idle.stop.failures, 0u) << "forgotten once it sleeps";
}

TEST(FailedStop, IsWhatAStopThatTakesTooLongIs) {
  IdleSteps app;
  app.post(OperatorSleep{});
  EXPECT_EQ(next_deadline(app.idle, app.now), app.now + 6min);
  app.pass(6min - 1ms);
  EXPECT_EQ(app.idle.state, IdleState::stopping);
  app.pass(1ms);
  EXPECT_EQ(app.idle.state, IdleState::active);
  EXPECT_TRUE(app.did<Serve>());
  EXPECT_EQ(app.idle.stop.failures, 1u);
}

TEST(FailedStop, AfterAFailedWakeAdmitsCallersAgain) {
  IdleSteps app;
  app.sleep();
  app.post(CallerWaits{});
  app.post(WakeFailed{});
  app.post(StopFailed{});
  EXPECT_EQ(app.idle.state, IdleState::active);
  EXPECT_TRUE(app.did<AdmitCallers>());
}

TEST(AppDue, WakesTheAppByThenAndNotBefore) {
  IdleSteps app;
  app.post(OperatorSleep{});
  app.post(AppDue{app.now + 2h});
  app.post(AppDue{app.now + 1h});  // of another worker
  app.post(AppDue{app.now + 3h});
  app.post(LastGone{});
  EXPECT_EQ(next_deadline(app.idle, app.now), app.now + 1h);
  app.pass(1h - 1ms);
  EXPECT_EQ(app.idle.state, IdleState::asleep);
  app.pass(1ms);
  EXPECT_EQ(app.idle.state, IdleState::waking);
  EXPECT_EQ(app.did<Serve>()->why, Waker::app_due);
  app.post(FirstServing{});
  app.sleep();
  EXPECT_EQ(next_deadline(app.idle, app.now), app.now + 4h) << "what was said before is stale";
}

TEST(AppDue, IsStaleWhileAwakeAndNothingForTheGuard) {
  IdleSteps app;
  app.post(AppDue{app.now + 15min + 1s});
  app.now += 15min;
  app.post(Swept{});
  EXPECT_EQ(app.idle.state, IdleState::stopping);
  EXPECT_EQ(app.idle.app_due_at, never);
}

TEST(AppDue, WaitsForTheEndOfTheWindowOfAFailedWake) {
  IdleSteps app;
  app.post(OperatorSleep{});
  app.post(AppDue{app.now + 10s});
  app.post(LastGone{});
  app.now += 10s - 1ms;
  app.fail_a_wake();
  EXPECT_EQ(next_deadline(app.idle, app.now), app.now + 1s);
  app.pass(1s);
  EXPECT_EQ(app.idle.state, IdleState::waking);
}

// The pool as it is, and the only event that the idle core has for it.
class WithPool {
 public:
  PoolPolicy policy{{60s, 30s, 10s}, 5, {1s, 30s}, 10s, 0s};
  Pool pool;
  MonotonicTime now{1h};
  void post(const PoolEvent& event) { pool = transition(std::move(pool), event, policy, now).state; }
  void do_all(const IdleSteps& app) {
    for (const IdleAction& action : app.done) {
      if (std::holds_alternative<Serve>(action)) post(SetMode{Mode::serve});
      if (std::holds_alternative<Sleep>(action)) post(SetMode{Mode::sleep});
    }
  }
};

TEST(Wake, AReloadInTheMiddleOfItIsNotOverwritten) {
  for (const bool succeeds : {true, false}) {
    IdleSteps app;
    WithPool with;
    with.post(ScaleTo{2});
    with.post(GenerationLoaded{{1}});
    app.post(OperatorSleep{});
    with.do_all(app);
    app.post(LastGone{});
    app.post(CallerWaits{});
    with.do_all(app);
    ASSERT_EQ(with.pool.goal.mode, Mode::serve);
    with.post(GenerationLoaded{{2}});  // the reload, while the app wakes
    with.post(ScaleTo{3});
    if (succeeds) app.post(FirstServing{});
    else app.post(WakeFailed{});
    with.do_all(app);
    EXPECT_EQ(with.pool.goal.mode, succeeds ? Mode::serve : Mode::sleep);
    EXPECT_EQ(with.pool.goal.candidate, Generation{2});
    EXPECT_EQ(with.pool.goal.workers, 3u);
  }
}
}  // namespace
}  // namespace moult
