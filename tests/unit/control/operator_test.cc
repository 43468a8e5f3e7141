#include "master/control/operator.h"

#include <gmock/gmock.h>

#include "tests/unit/control/recorded_wishes.h"
namespace moult::test {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct OperatorTest : testing::Test {
  RecordedWishes recorded;
  Operator wishes{recorded.parts()};
};

TEST_F(OperatorTest, PassesEachWishOnAndSaysWhoAsked) {
  ASSERT_TRUE(wishes.scale("SIGTTIN", 4));
  ASSERT_TRUE(wishes.reload("SIGHUP", [](const ReloadOutcome&) {}));
  wishes.stop("SIGTERM");
  wishes.stop_quickly("SIGINT");
  EXPECT_THAT(recorded.asked, ElementsAre("scale 4", "reload", "stop", "stop quickly"));
  EXPECT_THAT(recorded.said, ElementsAre("workers: 3 -> 4: asked by SIGTTIN", "reloading: asked by SIGHUP",
                                         "stopping gracefully: asked by SIGTERM", "stopping quickly: asked by SIGINT"));
}

TEST_F(OperatorTest, AScheduledCallIsMadeByItsNameUnlessMoultIsStopping) {
  std::string told;
  ASSERT_TRUE(wishes.run_call("a test", "nightly", [&](const Result<std::string>& ended) { told = *ended; }));
  recorded.calls.at(0)(Result<std::string>("{}"));
  EXPECT_EQ(told, "{}");
  EXPECT_FALSE(wishes.run_call("a test", "hourly", [](const Result<std::string>&) {}));
  EXPECT_THAT(recorded.said, ElementsAre("the scheduled call 'nightly' is made: asked by a test",
                                         "no scheduled call is named 'hourly' (a test)"));
  wishes.stop("SIGTERM");
  EXPECT_FALSE(wishes.run_call("a test", "nightly", [](const Result<std::string>&) {}));
  EXPECT_EQ(recorded.calls.size(), 1u);
}

TEST_F(OperatorTest, AsksOneWorkerOrAllToGo) {
  EXPECT_EQ(*wishes.recycle("a test", 2), 1u);
  EXPECT_EQ(*wishes.recycle("a test", std::nullopt), 3u);
  EXPECT_THAT(recorded.asked, ElementsAre("recycle 2", "recycle all"));
  EXPECT_THAT(recorded.said, ElementsAre("worker 2 is to be replaced: asked by a test",
                                         "all workers are to be replaced: asked by a test"));
}

TEST_F(OperatorTest, SaysWhyNobodyIsAskedToGo) {
  EXPECT_EQ(wishes.recycle("a test", 3).error().message, "no worker serves in slot 3");
  recorded.mode = Mode::draining;
  EXPECT_EQ(wishes.recycle("a test", 0).error().message, "nobody is replaced: moult is stopping");
  EXPECT_THAT(recorded.asked, ElementsAre("recycle 3"));
}

TEST_F(OperatorTest, RefusesAReloadForWhichThereIsNoRoom) {
  recorded.room = Error{"no room for a reload"};
  EXPECT_EQ(wishes.reload("SIGHUP", [](const ReloadOutcome&) {}).error().message, "no room for a reload");
  EXPECT_THAT(recorded.asked, IsEmpty());
}

TEST_F(OperatorTest, ScalesBetweenOneAndTheMostWorkers) {
  EXPECT_FALSE(wishes.scale("a test", 0));
  EXPECT_TRUE(wishes.scale("a test", 1));
  EXPECT_TRUE(wishes.scale("a test", 300));
  EXPECT_TRUE(wishes.scale("a test", most_workers));
  const auto refused = wishes.scale("a test", most_workers + 1);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("at most 1000"));
  EXPECT_THAT(recorded.asked, ElementsAre("scale 1", "scale 300", "scale 1000"));
}

TEST_F(OperatorTest, DoesNotScaleToANumberOfWhichNobodyCouldBeReplaced) {
  recorded.affordable = Error{"--min-healthy 60%: too few would serve"};
  EXPECT_THAT(wishes.scale("a test", 2).error().message, HasSubstr("--min-healthy"));
  EXPECT_THAT(recorded.asked, IsEmpty());
}

TEST_F(OperatorTest, TakesOneAwayDownToOneAndAddsOneUpToTheMost) {
  recorded.wanted = 2;
  EXPECT_EQ(*wishes.one_less("SIGTTOU"), 1u);
  EXPECT_FALSE(wishes.one_less("SIGTTOU"));
  EXPECT_EQ(recorded.wanted, 1u);
  recorded.wanted = most_workers - 1;
  EXPECT_EQ(*wishes.one_more("SIGTTIN"), most_workers);
  EXPECT_FALSE(wishes.one_more("SIGTTIN"));
  EXPECT_EQ(recorded.wanted, most_workers);
}

TEST_F(OperatorTest, NeitherScalesNorReloadsWhileStopping) {
  for (const Mode mode : {Mode::delay, Mode::draining, Mode::last, Mode::quick, Mode::finished}) {
    recorded.mode = mode;
    EXPECT_THAT(wishes.scale("a test", 2).error().message, HasSubstr("moult is stopping"));
    const auto refused =
        wishes.reload("a test", [](const ReloadOutcome&) { ADD_FAILURE() << "a refused reload has no end"; });
    EXPECT_THAT(refused.error().message, HasSubstr("moult is stopping"));
  }
  EXPECT_THAT(recorded.asked, IsEmpty());
}

TEST_F(OperatorTest, ReloadsAndScalesWhileAsleep) {
  recorded.mode = Mode::sleep;
  EXPECT_TRUE(wishes.scale("a test", 2));
  EXPECT_TRUE(wishes.reload("a test", [](const ReloadOutcome&) {}));
}

TEST_F(OperatorTest, PutsTheAppToSleepAndWakesItAndSaysWhoAsked) {
  std::vector<std::string> told;
  const auto tell = [&](const Result<void>& outcome) { told.push_back(outcome ? "done" : outcome.error().message); };
  wishes.sleep("a test", tell);
  wishes.wake("a test", tell);
  EXPECT_THAT(recorded.asked, ElementsAre("sleep", "wake"));
  EXPECT_THAT(told, ElementsAre("done", "it cannot be loaded"));
  EXPECT_THAT(recorded.said,
              ElementsAre("the app is to sleep: asked by a test", "the app is to wake: asked by a test"));
  recorded.mode = Mode::draining;
  wishes.sleep("a test", tell);
  wishes.wake("a test", tell);
  EXPECT_EQ(recorded.asked.size(), 2u);
  EXPECT_THAT(told.back(), HasSubstr("moult is stopping"));
}

TEST_F(OperatorTest, AQuickStopStaysPossibleDuringAGracefulOne) {
  wishes.stop("SIGTERM");
  wishes.stop_quickly("SIGINT");
  wishes.stop_quickly("SIGINT");
  EXPECT_THAT(recorded.asked, ElementsAre("stop", "stop quickly", "stop quickly"));
}

TEST_F(OperatorTest, ReopensOurOwnLogBeforeItSaysSoAndTellsTheWorkers) {
  wishes.reopen_logs("SIGUSR1");
  EXPECT_THAT(recorded.asked, ElementsAre("reopen our logs", "reopen the workers' logs"));
  EXPECT_THAT(recorded.said, ElementsAre("log files reopened: asked by SIGUSR1"));
}
}  // namespace
}  // namespace moult::test
