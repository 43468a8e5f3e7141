#include "master/control/signals.h"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <csignal>

#include "tests/unit/control/loop_fixture.h"
namespace moult::test {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

struct SignalsTest : testing::Test {
  SignalsTest() { block_signals_early(); }
  ~SignalsTest() override { signals.reset(), unblock_signals(); }
  void start() {
    auto started = Signals::start(loop.get(), wishes);
    ASSERT_TRUE(started) << started.error().message;
    signals = *std::move(started);
  }
  void send(int number) {
    const std::size_t before = recorded.said.size();
    ::kill(::getpid(), number);
    EXPECT_TRUE(loop.run_until([&] { return recorded.said.size() > before; })) << number;
  }

  Loop loop;
  RecordedWishes recorded;
  Operator wishes{recorded.parts()};
  std::unique_ptr<Signals> signals;
};

TEST_F(SignalsTest, MeanWhatTheyMeanInGunicorn) {
  start();
  for (const int number : {SIGTTIN, SIGTTOU, SIGUSR1, SIGHUP, SIGTERM, SIGINT}) send(number);
  EXPECT_THAT(recorded.asked, ElementsAre("scale 4", "scale 3", "reopen our logs", "reopen the workers' logs", "reload",
                                          "stop", "stop quickly"));
}

TEST_F(SignalsTest, StayQuickWhenTheyComeAgain) {
  start();
  for (const int number : {SIGINT, SIGQUIT, SIGINT, SIGTERM}) send(number);
  EXPECT_THAT(recorded.asked, ElementsAre("stop quickly", "stop quickly", "stop quickly", "stop"));
}

TEST_F(SignalsTest, OnlySayThatTheUpgradeComesLater) {
  start();
  send(SIGUSR2);
  EXPECT_THAT(recorded.said, ElementsAre(HasSubstr("comes with a later version")));
  EXPECT_TRUE(recorded.asked.empty());
}

TEST_F(SignalsTest, AreNotLostWhenTheyComeBeforeTheLoopListens) {
  ::kill(::getpid(), SIGHUP);
  ::kill(::getpid(), SIGTTIN);
  start();
  EXPECT_TRUE(loop.run_until([&] { return recorded.asked.size() == 2; }));
  EXPECT_THAT(recorded.asked, UnorderedElementsAre("reload", "scale 4"));
}

TEST_F(SignalsTest, ChangeNothingWhenTheLoopListensNoMore) {
  start();
  signals.reset();
  ::kill(::getpid(), SIGTTIN);
  loop.run_once_more();
  EXPECT_TRUE(recorded.asked.empty());
  start();
  EXPECT_TRUE(loop.run_until([&] { return recorded.asked.size() == 1; })) << "it waited";
}

TEST_F(SignalsTest, KillNobodyWhoWritesWhereNobodyReads) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  EXPECT_EQ(::write(ends[1], "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  ::close(ends[1]);
}
}  // namespace
}  // namespace moult::test
