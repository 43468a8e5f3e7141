// How an app is put to sleep and woken: what is done, in which order, and what is said of it.
#include "master/sleep/sleeper.h"

#include "tests/unit/sleep/sleeping_app.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

using SleeperTest = SleepingApp;

TEST_F(SleeperTest, SleepsWhenTheWindowIsOverAndTheLastWorkerIsGone) {
  policy.idle = 20ms;
  start_serving();
  ASSERT_TRUE(run_until([&] { return state() == IdleState::stopping; }));
  EXPECT_THAT(did, ElementsAre("sleep", "watch"));
  worker(WorkerState::retiring);
  EXPECT_EQ(state(), IdleState::stopping) << "somebody is left";
  worker(WorkerState::spare, std::nullopt);
  EXPECT_EQ(state(), IdleState::asleep) << "a spare has met nobody";
  EXPECT_THAT(did, ElementsAre("sleep", "watch", "keep warm"));
  EXPECT_THAT(told, ElementsAre("slept idle"));
  EXPECT_THAT(saves, ElementsAre("active", "stopping", "asleep"));
}

TEST_F(SleeperTest, DecidesNothingBeforeTheFirstWorkerServes) {
  policy.idle = 1ms;
  start();
  worker(WorkerState::booting);
  run_until([end = std::chrono::steady_clock::now() + 30ms] { return std::chrono::steady_clock::now() > end; });
  EXPECT_EQ(sweeps, 0u);
  EXPECT_THAT(did, IsEmpty());
  worker(WorkerState::serving);
  EXPECT_TRUE(run_until([&] { return state() == IdleState::stopping; }));
}

TEST_F(SleeperTest, SaysWhatKeepsItAwake) {
  policy.idle = 5ms;
  activity.upgraded = 1;
  start_serving();
  ASSERT_TRUE(run_until([&] { return sleeper->describe().blocked_by == BlockedBy::upgraded; }));
  EXPECT_EQ(state(), IdleState::active);
}

TEST_F(SleeperTest, IsAwakeForACallerWhenAWorkerServes) {
  start_serving();
  fall_asleep();
  told.clear();
  for (int i = 0; i < 3; ++i) sleeper->caller_waits();
  EXPECT_THAT(did, ElementsAre("serve")) << "once, however many call";
  worker(WorkerState::booting);
  EXPECT_EQ(state(), IdleState::waking);
  worker(WorkerState::serving);
  EXPECT_EQ(state(), IdleState::active);
  EXPECT_THAT(did, ElementsAre("serve", "watch no more", "let cool"));
  EXPECT_THAT(told, ElementsAre("woke caller"));
}

TEST_F(SleeperTest, WaitsUntilEverythingIsDelivered) {
  delivers = true;
  start_serving();
  Outcome outcome;
  sleeper->sleep(into(outcome));
  worker(WorkerState::retiring);
  EXPECT_THAT(did, ElementsAre("sleep", "watch"));
  nobody();
  EXPECT_THAT(did, ElementsAre("sleep", "watch", "delivery"));
  settle();
  EXPECT_EQ(did.size(), 3u) << "it is looked for once";
  EXPECT_EQ(state(), IdleState::stopping);
  end_of_what_is_underway({});
  EXPECT_EQ(state(), IdleState::asleep);
  EXPECT_TRUE(outcome && *outcome);
}

TEST_F(SleeperTest, StaysAwakeWhenSomethingCannotBeDelivered) {
  delivers = true;
  start_serving();
  Outcome outcome;
  sleeper->sleep(into(outcome));
  nobody();
  end_of_what_is_underway(Error{"2 responses are not acknowledged"});
  EXPECT_EQ(state(), IdleState::active);
  EXPECT_THAT(did, ElementsAre("sleep", "watch", "delivery", "serve", "watch no more", "let cool"));
  EXPECT_THAT(told, ElementsAre("stop failed: 2 responses are not acknowledged"));
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->error().message, "2 responses are not acknowledged");
  EXPECT_GT(sleeper->describe().no_sleep_for, 20s);
}

TEST_F(SleeperTest, AsksTheHookFirstWhileTheWorkersServeOn) {
  has_hook = true;
  start_serving();
  sleeper->sleep([](const Result<void>&) {});
  EXPECT_THAT(did, ElementsAre("hook"));
  settle();
  EXPECT_EQ(state(), IdleState::stopping);
  end_of_what_is_underway({});
  EXPECT_THAT(did, ElementsAre("hook", "watch", "sleep"));
}

TEST_F(SleeperTest, StaysAwakeWhenTheHookFails) {
  has_hook = true;
  start_serving();
  Outcome outcome;
  sleeper->sleep(into(outcome));
  end_of_what_is_underway(Error{"--on-sleep failed"});
  EXPECT_EQ(state(), IdleState::active);
  EXPECT_THAT(told, ElementsAre("stop failed: --on-sleep failed"));
  EXPECT_EQ(outcome->error().message, "--on-sleep failed");
  Outcome again;
  sleeper->sleep(into(again));
  end_of_what_is_underway({});
  nobody();
  EXPECT_TRUE(again && *again);
  EXPECT_EQ(sleeper->describe().failure, "");
}

TEST_F(SleeperTest, AVisitorWhileTheHookRunsKeepsItAwake) {
  has_hook = true;
  policy.idle = 5ms;
  start_serving();
  ASSERT_TRUE(run_until([&] { return state() == IdleState::stopping; }));
  activity.last_visitor_at = MonotonicTime::max() - 1h;
  end_of_what_is_underway({});
  EXPECT_EQ(state(), IdleState::active);
  EXPECT_THAT(did, ElementsAre("hook", "serve", "let cool"));
  EXPECT_THAT(told, ElementsAre("woke caller"));
}

TEST_F(SleeperTest, AWakeEndsWhateverTheStopWaitsFor) {
  has_hook = delivers = true;
  start_serving();
  Outcome outcome;
  sleeper->sleep(into(outcome));
  sleeper->wake([](const Result<void>&) {});
  EXPECT_TRUE(underway.expired()) << "the hook";
  EXPECT_EQ(state(), IdleState::active) << "the worker serves still";
  EXPECT_EQ(outcome->error().message, "it was woken again");
  sleeper->sleep([](const Result<void>&) {});
  end_of_what_is_underway({});
  nobody();
  ASSERT_FALSE(underway.expired());
  sleeper->caller_waits();
  EXPECT_TRUE(underway.expired()) << "the delivery";
  EXPECT_EQ(state(), IdleState::waking);
  end_of_what_is_underway({});
  EXPECT_EQ(state(), IdleState::waking) << "it comes too late";
}

TEST_F(SleeperTest, AStopThatDoesNotEndInTimeHasFailed) {
  policy.stop_timeout = 20ms;
  start_serving();
  Outcome outcome;
  sleeper->sleep(into(outcome));
  worker(WorkerState::killed);
  ASSERT_TRUE(run_until([&] { return state() == IdleState::active; }));
  EXPECT_THAT(told, ElementsAre("stop failed: it did not end in time"));
  EXPECT_EQ(outcome->error().message, "it did not end in time");
}

TEST_F(SleeperTest, AWakeFailsAtOnceWhenThePoolGivesItUp) {
  start_serving();
  fall_asleep();
  told.clear();
  sleeper->caller_waits();
  trouble = "ModuleNotFoundError: No module named 'shop'";
  sleeper->wake_failed(trouble);
  EXPECT_EQ(state(), IdleState::asleep);
  EXPECT_THAT(did, ElementsAre("serve", "refuse", "sleep", "keep warm"));
  EXPECT_THAT(told, ElementsAre("wake failed: " + trouble));
  EXPECT_GT(sleeper->describe().refuses_for, 0s);
  sleeper->caller_waits();
  EXPECT_EQ(state(), IdleState::asleep) << "one attempt in a window";
}

TEST_F(SleeperTest, AWakeEndsWithItsBudgetAndTellsTheOperatorWhy) {
  policy.wake_timeout = 20ms;
  start_serving();
  fall_asleep();
  Outcome outcome;
  sleeper->wake(into(outcome));
  ASSERT_TRUE(run_until([&] { return outcome.has_value(); }));
  EXPECT_EQ(outcome->error().message, "no worker served within --wake-timeout");
  EXPECT_EQ(last_wake->caller, Waker::operator_wish);
  EXPECT_GE(last_wake->after, 20ms);
}

TEST_F(SleeperTest, AReloadEndsTheRefusals) {
  start_serving();
  fall_asleep();
  sleeper->caller_waits();
  sleeper->wake_failed("no");
  did.clear();
  sleeper->code_changed();
  EXPECT_THAT(did, ElementsAre("admit"));
  sleeper->caller_waits();
  EXPECT_EQ(state(), IdleState::waking);
}

TEST_F(SleeperTest, AnOperatorIsToldWhatIsSoAlready) {
  start_serving();
  Outcome awake, asleep;
  sleeper->wake(into(awake));
  EXPECT_TRUE(awake && *awake);
  fall_asleep();
  sleeper->sleep(into(asleep));
  EXPECT_TRUE(asleep && *asleep);
}

TEST_F(SleeperTest, ThatBeginsAsleepLaunchesNobodyAndKeepsWarmOnceTheCodeIsLoaded) {
  policy.warm_for = 0s;  // --warmth nothing
  sleeper = std::make_unique<Sleeper>(loop.get(), policy, IdleState::asleep, parts());
  sleeper->start();
  EXPECT_THAT(did, ElementsAre("sleep", "watch", "let cool"));
  did.clear();
  settle();
  EXPECT_THAT(did, IsEmpty()) << "it is not known yet whether it loads";
  pool.goal.candidate = Generation{1};
  settle();
  EXPECT_THAT(did, ElementsAre("drop warmth"));
  sleeper->caller_waits();
  EXPECT_EQ(state(), IdleState::waking);
}

TEST_F(SleeperTest, DropsItsWarmthWhenThatTimeIsOver) {
  policy.warm_for = 20ms;
  start_serving();
  fall_asleep();
  EXPECT_TRUE(sleeper->describe().warm);
  ASSERT_TRUE(run_until([&] { return !did.empty(); }));
  EXPECT_THAT(did, ElementsAre("drop warmth"));
  EXPECT_FALSE(sleeper->describe().warm);
}

TEST_F(SleeperTest, WakesInTimeForTheAppsOwnSchedule) {
  pool.goal.proven = pool.goal.candidate = Generation{1};
  start();
  run_until([&] { return sleeper->describe().since >= 50ms; });  // so long a start takes, and so a wake may
  worker(WorkerState::serving);
  did.clear();
  sleeper->sleep([](const Result<void>&) {});
  const MonotonicTime due = monotonic_now(loop.get()) + 200ms;
  sleeper->app_due(due);
  nobody();
  ASSERT_EQ(state(), IdleState::asleep);
  ASSERT_TRUE(run_until([&] { return state() == IdleState::waking; }));
  EXPECT_LE(monotonic_now(loop.get()), due);
  EXPECT_GE(monotonic_now(loop.get()), due - 200ms);
  worker(WorkerState::serving);
  EXPECT_THAT(told, testing::Contains("woke app_due"));
}

TEST_F(SleeperTest, IsAtAnEndWithTheInstance) {
  delivers = true;
  start_serving();
  Outcome outcome;
  sleeper->sleep(into(outcome));
  nobody();
  did.clear();
  sleeper->end();
  EXPECT_THAT(did, ElementsAre("watch no more"));
  EXPECT_TRUE(underway.expired());
  EXPECT_EQ(outcome->error().message, "moult is stopping");
  sleeper->caller_waits();
  pool.goal.mode = Mode::last;
  settle();
  EXPECT_EQ(did.size(), 1u);
  Outcome late;
  sleeper->wake(into(late));
  EXPECT_EQ(late->error().message, "moult is stopping");
}

TEST_F(SleeperTest, CountsTheTimeInWhichItIsNotAsleep) {
  start_serving();
  run_until([&] { return sleeper->describe().awake >= 20ms; });
  fall_asleep();
  const Duration awake = sleeper->describe().awake;
  EXPECT_GE(awake, 20ms);
  run_until([&] { return sleeper->describe().since >= 20ms; });
  EXPECT_EQ(sleeper->describe().awake, awake);
  sleeper->caller_waits();
  run_until([&] { return sleeper->describe().since >= 20ms; });
  EXPECT_GE(sleeper->describe().awake, awake + 20ms);
}
}  // namespace
}  // namespace moult
