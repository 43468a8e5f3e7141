#include "master/sleep/caller.h"

#include <gmock/gmock.h>

#include "tests/unit/sleep/app_at_the_door.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

ScheduledCall often(const std::string& name, Duration timeout = 20s) {
  return {.name = name, .when = Every{1s}, .path = "/" + name, .timeout = timeout, .as_written = "every 1s"};
}
ScheduledCall rare(const std::string& name, Duration timeout = 20s) {
  ScheduledCall call = often(name, timeout);
  call.when = Every{366 * 24h};
  return call;
}

struct CallerTest : testing::Test {
  Loop loop;
  std::string says = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  bool serves = true;
  AppAtTheDoor app{loop, [this](const std::string&) { return says; }};
  std::vector<EndedCall> ended;
  int due = 0, over = 0;
  std::unique_ptr<Caller> caller;

  void start(std::vector<ScheduledCall> calls, std::optional<IdlePolicy> idle = {}) {
    caller = std::make_unique<Caller>(
        loop.get(), CallerOptions{{std::move(calls)}, app.path(), idle},
        CallerParts{[this] { return serves; }, [this](const EndedCall& call) { ended.push_back(call); }});
    caller->on_call_due = [this] { ++due; };
    caller->on_no_call_waits = [this] { ++over; };
    caller->start();
  }
  bool ends(std::size_t count) {
    return loop.run_until([&] { return ended.size() >= count; });
  }
  MonotonicTime now() { return loop.budget({}).end; }
};

TEST_F(CallerTest, CallsAreMadeWhenTheyAreDue) {
  start({often("a"), often("b")});
  ASSERT_TRUE(ends(4));
  for (const EndedCall& each : ended) {
    EXPECT_EQ(each.outcome, CallOutcome::answered);
    EXPECT_EQ(each.status, 200);
    EXPECT_EQ(each.due.time_since_epoch() % 1s, 0s);
    EXPECT_FALSE(each.by_hand);
  }
  const ScheduleDescription is = caller->describe();
  EXPECT_EQ(is.calls.at(1).name, "b");
  EXPECT_EQ(is.calls.at(1).last_status, 200);
  EXPECT_EQ(is.calls.at(1).when, "every 1s");
  EXPECT_EQ(is.outcomes[static_cast<std::size_t>(CallOutcome::answered)], ended.size());
  EXPECT_EQ(is.calls.at(1).holds_awake, std::nullopt);
  EXPECT_EQ(due, 0);
}

TEST_F(CallerTest, ACallThatFindsNobodyAsksForAWakeAndIsDueUntilItHasEnded) {
  serves = false;
  start({often("a")});
  ASSERT_TRUE(loop.run_until([&] { return due == 1; }));
  EXPECT_TRUE(caller->call_waits());
  EXPECT_LE(caller->next_call_due(), now());
  loop.run_for(50ms);
  EXPECT_EQ(over, 0);
  serves = true;
  caller->worker_serving({}, 0);
  ASSERT_TRUE(ends(1));
  EXPECT_EQ(ended[0].status, 200);
  EXPECT_EQ(over, 1);
  EXPECT_GT(caller->next_call_due(), now() - 100ms);
}

TEST_F(CallerTest, ACallThatBeginsLateBecauseTheOneBeforeRanOnSaysByHowMuch) {
  serves = false;
  start({often("a")});
  ASSERT_TRUE(loop.run_until([&] { return due == 1; }));
  loop.run_for(2500ms);
  serves = true;
  caller->worker_serving({}, 0);
  ASSERT_TRUE(ends(2));
  EXPECT_GE(ended[1].late, 1s);
  EXPECT_LT(ended[0].late, ended[1].late);
}

TEST_F(CallerTest, AnAnswerThatSaysThatTheCallFailedIsCountedAsAnError) {
  start({rare("a")});
  for (const std::string status : {"399", "400", "500"}) {
    says = "HTTP/1.1 " + status + " X\r\nContent-Length: 0\r\n\r\n";
    const std::size_t before = ended.size();
    ASSERT_TRUE(caller->run("a", [](const EndedCall&) {}));
    ASSERT_TRUE(ends(before + 1));
  }
  EXPECT_EQ(caller->describe().errors, 2u);
  EXPECT_EQ(caller->describe().outcomes[static_cast<std::size_t>(CallOutcome::answered)], 3u);
}

TEST_F(CallerTest, OneThatIsGivenUpWaitsNoLonger) {
  serves = false;
  start({rare("a", 200ms)});
  ASSERT_TRUE(caller->run("a", [](const EndedCall&) {}));
  ASSERT_TRUE(ends(1));
  EXPECT_EQ(ended[0].outcome, CallOutcome::not_served);
  EXPECT_EQ(std::pair(due, over), std::pair(1, 1));
  EXPECT_FALSE(caller->call_waits());
}

TEST_F(CallerTest, ARunByHandTellsWhoAskedAndThenTheOthers) {
  start({rare("a"), rare("b")});
  std::vector<std::string> told;
  ASSERT_TRUE(caller->run("a", [&](const EndedCall& call) { told.push_back(call.name); }));
  const auto again = caller->run("a", [&](const EndedCall&) { ADD_FAILURE(); });
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("'a' is being called already"));
  EXPECT_FALSE(caller->run("c", [](const EndedCall&) {}));
  ASSERT_TRUE(ends(1));
  EXPECT_THAT(told, ElementsAre("a"));
  EXPECT_TRUE(ended[0].by_hand);
  EXPECT_EQ(app.heads.size(), 1u);
}

TEST_F(CallerTest, AStopBeginsNoCallAndWaitsForThoseThatWereSent) {
  says = "";
  start({rare("sent"), often("often")});
  ASSERT_TRUE(caller->run("sent", [](const EndedCall&) {}));
  ASSERT_TRUE(loop.run_until([&] { return !app.heads.empty(); }));
  caller->stopping();
  const std::size_t before = app.heads.size();
  loop.run_for(1200ms);
  EXPECT_EQ(app.heads.size(), before);
  EXPECT_FALSE(caller->run("sent", [](const EndedCall&) {}));
  caller->stop_finished(0);
  ASSERT_FALSE(ended.empty());
  for (const EndedCall& each : ended)
    EXPECT_EQ(each.outcome, each.name == "sent" ? CallOutcome::cut_off : CallOutcome::stopped) << each.name;
  bool gone = false;
  caller->leave(loop.budget(1s), [&] { gone = true; });
  EXPECT_TRUE(gone);
}

TEST_F(CallerTest, WhatHoldsTheAppAwakeIsSaid) {
  IdlePolicy idle;
  idle.idle = 15min;
  idle.wake_timeout = 30s;
  start({often("poll")}, idle);
  ASSERT_EQ(caller->warnings().size(), 1u);
  EXPECT_THAT(caller->warnings()[0],
              HasSubstr("schedule: does 'poll' hold the app awake? yes: it is always due within"));
  EXPECT_EQ(caller->describe().calls.at(0).holds_awake, true);
}

TEST(ClaimKept, IsAThousandPeriodsWithinBounds) {
  EXPECT_EQ(claim_kept(Every{1s}, WallTime{}), 1h);
  EXPECT_EQ(claim_kept(Every{1min}, WallTime{}), 1000min);
  EXPECT_EQ(claim_kept(Every{24h}, WallTime{}), 7 * 24h);
}
}  // namespace
}  // namespace moult
