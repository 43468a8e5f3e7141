// The supervisor's part in sleep and wake, and its spares: from started and parked to a slot.
#include <csignal>

#include "tests/unit/pool/supervisor_fixture.h"
namespace moult {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SupervisorSleepTest : public SupervisorTest {
 protected:
  // One worker serves, and it is the first; spares are numbered from 2.
  void serve_with_spares(unsigned spares) {
    supervisor->set_spares(spares);
    serve(1);
    for (std::uint64_t id = 2; id < 2 + spares; ++id) launcher.links.at({id}).parked({id});
    launcher.said.clear();
    notes.notes.clear();
  }
  void fall_asleep() {
    supervisor->sleep();
    exits(1, 0);
    launcher.said.clear();
    notes.notes.clear();
  }
  WorkerDescription described(std::uint64_t id) {
    for (const auto& each : supervisor->describe().workers)
      if (each.id == WorkerId{id}) return each;
    ADD_FAILURE() << "there is no worker " << id;
    return {};
  }
  std::vector<std::string> failed_wakes;
};

TEST_F(SupervisorSleepTest, ASpareWaitsWithoutASlotAndIsNotCounted) {
  serve_with_spares(1);
  EXPECT_EQ(described(2).state, WorkerState::spare);
  EXPECT_FALSE(described(2).slot);
  EXPECT_FALSE(described(2).uptime);
  EXPECT_EQ(supervisor->describe().wanted, 1u);
}

TEST_F(SupervisorSleepTest, OfASpareThatWaitsObserversHearBeforeItHasASlot) {
  supervisor->set_spares(1);
  serve(1);
  launcher.links.at({2}).parked({2});
  EXPECT_THAT(notes.notes, ElementsAre("waits 2"));
  launcher.links.at({2}).parked({2});
  EXPECT_THAT(notes.notes, ElementsAre("waits 2")) << "it says so twice";
}

TEST_F(SupervisorSleepTest, TheSlotOfACrashedWorkerIsFilledByTheSpareAndOnceThatServesANewOneComes) {
  serve_with_spares(1);
  exits(1, 7);
  EXPECT_THAT(launcher.said, ElementsAre("go 2 to slot 0"));
  EXPECT_EQ(described(2).state, WorkerState::booting);
  launcher.links.at({2}).ready({2}, Drain::close);
  EXPECT_THAT(launcher.said, ElementsAre("go 2 to slot 0", "launch 3"));
  EXPECT_THAT(notes.notes, ElementsAre("gone 1", "serving 2"));
}

TEST_F(SupervisorSleepTest, ASlotThatBacksOffIsNotFilledByASpareBeforeItsTime) {
  supervisor->set_spares(1);
  serve(1);
  exits(1, 7);
  EXPECT_THAT(launcher.said, ElementsAre("launch 3"));
  launcher.links.at({3}).gone({3}, Exit{.pid = 1, .status = 1});  // its slot backs off
  launcher.said.clear();
  launcher.links.at({2}).parked({2});
  EXPECT_THAT(launcher.said, IsEmpty());
  EXPECT_EQ(described(2).state, WorkerState::spare);
}

TEST_F(SupervisorSleepTest, ASpareThatDiesIsGoneAndNoBootFailed) {
  serve_with_spares(1);
  launcher.links.at({2}).gone({2}, Exit{.pid = 1, .signal = SIGKILL});
  EXPECT_THAT(notes.notes, ElementsAre("gone 2"));
  EXPECT_THAT(launcher.said, ElementsAre("launch 3")) << "the first time at once";
  EXPECT_EQ(supervisor->describe().boot_error, "");
}

TEST_F(SupervisorSleepTest, ASpareThatIsNotWantedAnyMoreHasEndedAndDidNotFail) {
  serve_with_spares(1);
  supervisor->set_spares(0);
  EXPECT_THAT(launcher.said, ElementsAre("signal " + std::to_string(SIGTERM) + " to 2"));
  exits(2, 0);
  EXPECT_THAT(notes.notes, ElementsAre("gone 2"));
}

TEST_F(SupervisorSleepTest, ASpareThatCannotStartIsSaidUntilOneHasWaitedLongEnough) {
  supervisor->set_spares(1);
  serve(1);
  launcher.links.at({2}).gone({2}, Exit{.pid = 1, .status = 1, .cause = "no such table"});
  EXPECT_EQ(supervisor->describe().boot_error, "exited with status 1\nno such table");
  EXPECT_THAT(notes.notes, ElementsAre("boot failed 2"));
  supervisor->set_spares(0);
  EXPECT_EQ(supervisor->describe().boot_error, "");
}

TEST_F(SupervisorSleepTest, AReloadEndsTheOldSpareWhenTheNewCodeServes) {
  serve_with_spares(1);
  supervisor->reload([](const ReloadOutcome&) {});
  launcher.loads.loaded({2});
  launcher.links.at({3}).ready({3}, Drain::close);
  EXPECT_THAT(launcher.said, ElementsAre("load 2", "launch 3", "drop 1", "signal " + std::to_string(SIGTERM) + " to 2",
                                         "retire 1", "launch 4"));
  EXPECT_EQ(launcher.generations.at({4}), Generation{2});
}

TEST_F(SupervisorSleepTest, AsleepNobodyIsWantedAndTheSpareStays) {
  serve_with_spares(1);
  supervisor->sleep();
  EXPECT_THAT(launcher.said, ElementsAre("retire 1"));
  exits(1, 0);
  EXPECT_EQ(described(2).state, WorkerState::spare);
  supervisor->wake();
  EXPECT_EQ(launcher.said.back(), "go 2 to slot 0");
}

TEST_F(SupervisorSleepTest, ASpareIsMadeWhileTheAppFallsAsleep) {
  serve(1);
  supervisor->sleep();
  supervisor->set_spares(1);
  EXPECT_THAT(launcher.said, ElementsAre("retire 1", "launch 2"));
}

TEST_F(SupervisorSleepTest, WithItsWarmthDroppedNothingLivesAndTheNextWakeLoadsTheCodeAnew) {
  serve_with_spares(1);
  fall_asleep();
  supervisor->drop_warmth();
  EXPECT_THAT(launcher.said, ElementsAre("signal " + std::to_string(SIGTERM) + " to 2", "drop 1"));
  exits(2, 0);
  EXPECT_THAT(supervisor->describe().workers, IsEmpty());
  launcher.said.clear();
  supervisor->wake();
  EXPECT_THAT(launcher.said, ElementsAre("load 2"));
  launcher.loads.loaded({2});
  EXPECT_THAT(launcher.said, ElementsAre("load 2", "launch 3"));
  launcher.links.at({3}).ready({3}, Drain::close);
  EXPECT_EQ(described(3).state, WorkerState::serving);
}

TEST_F(SupervisorSleepTest, WarmthIsNotDroppedWhileTheAppIsAwake) {
  serve_with_spares(1);
  supervisor->drop_warmth();
  EXPECT_THAT(launcher.said, IsEmpty());
}

TEST_F(SupervisorSleepTest, AWakeWhoseCodeDoesNotLoadIsSaidWithItsCauseAndEndsNothing) {
  supervisor->on_wake_failed([&](const std::string& cause) {
    failed_wakes.push_back(cause);
    supervisor->sleep();
  });
  serve(1);
  fall_asleep();
  supervisor->drop_warmth();
  supervisor->wake();
  launcher.loads.load_failed({2}, {"no module named app"});
  EXPECT_THAT(failed_wakes, ElementsAre("no module named app"));
  EXPECT_EQ(supervisor->describe().boot_error, "no module named app");
  EXPECT_FALSE(exit_code);
  launcher.said.clear();
  supervisor->wake();  // the next one tries anew
  EXPECT_THAT(launcher.said, ElementsAre("load 3"));
  launcher.loads.loaded({3});
  launcher.links.at({2}).ready({2}, Drain::close);
  EXPECT_EQ(failed_wakes.size(), 1u);
}

TEST_F(SupervisorSleepTest, AWakeWhoseBootsFailIsSaidOnceAndNobodyExitsFor3) {
  supervisor->on_wake_failed([&](const std::string& cause) { failed_wakes.push_back(cause); });
  serve(1);
  fall_asleep();
  supervisor->wake();
  for (std::uint64_t id = 2; id < 5; ++id) {
    while (!launcher.links.contains({id})) uv_run(&loop, UV_RUN_ONCE);  // the back-off of the slot
    exits(id, 1);
    EXPECT_EQ(failed_wakes.size(), id < 3 ? 0u : 1u) << "there are two attempts";
  }
  EXPECT_THAT(failed_wakes, ElementsAre("exited with status 1"));
  EXPECT_FALSE(exit_code);
}

TEST_F(SupervisorSleepTest, AReloadWhileAsleepLoadsAndWakesNobody) {
  serve(1);
  fall_asleep();
  std::optional<ReloadOutcome> outcome;
  supervisor->reload([&](const ReloadOutcome& o) { outcome = o; });
  EXPECT_FALSE(outcome);
  launcher.loads.loaded({2});
  EXPECT_THAT(launcher.said, ElementsAre("load 2"));
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->succeeded);
  supervisor->wake();
  EXPECT_EQ(launcher.generations.at({2}), Generation{2});
}

TEST_F(SupervisorSleepTest, AReloadWhileAsleepHasSucceededOnceASpareOfTheNewCodeHasStarted) {
  serve_with_spares(1);
  fall_asleep();
  std::optional<ReloadOutcome> outcome;
  supervisor->reload([&](const ReloadOutcome& o) { outcome = o; });
  launcher.loads.loaded({2});
  EXPECT_THAT(launcher.said, ElementsAre("load 2", "signal " + std::to_string(SIGTERM) + " to 2", "launch 3"));
  EXPECT_FALSE(outcome);
  launcher.links.at({3}).parked({3});
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->succeeded);
}

TEST_F(SupervisorSleepTest, AReloadWhileAsleepToCodeThatCannotStartFailsAndTheOldCodeIsKeptWarm) {
  serve_with_spares(1);
  fall_asleep();
  std::optional<ReloadOutcome> outcome;
  supervisor->reload([&](const ReloadOutcome& o) { outcome = o; });
  launcher.loads.loaded({2});
  exits(2, 0);
  for (std::uint64_t id = 3; id < 5; ++id) {
    while (!launcher.links.contains({id})) uv_run(&loop, UV_RUN_ONCE);
    launcher.links.at({id}).gone({id}, Exit{.pid = 1, .status = 1, .cause = "boom"});
  }
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->succeeded);
  EXPECT_EQ(outcome->error, "exited with status 1\nboom");
  while (!launcher.links.contains({5})) uv_run(&loop, UV_RUN_ONCE);
  EXPECT_EQ(launcher.generations.at({5}), Generation{1});
  EXPECT_FALSE(exit_code);
}

TEST_F(SupervisorSleepTest, AReloadWhileColdThatDoesNotLoadFailsAndRests) {
  serve(1);
  fall_asleep();
  supervisor->drop_warmth();
  std::optional<ReloadOutcome> outcome;
  supervisor->reload([&](const ReloadOutcome& o) { outcome = o; });
  launcher.loads.load_failed({2}, {"no module named app"});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->error, "no module named app");
  EXPECT_FALSE(exit_code);
}

TEST_F(SupervisorSleepTest, TheTroubleOfAWakeIsNoneThatWasBeforeIt) {
  serve(1);
  fall_asleep();
  supervisor->reload([](const ReloadOutcome&) {});
  launcher.loads.load_failed({2}, {"no module named app"});
  EXPECT_EQ(supervisor->trouble_in_wake(), "");
  supervisor->wake();
  EXPECT_EQ(supervisor->trouble_in_wake(), "");
  exits(2, 7);
  EXPECT_THAT(supervisor->trouble_in_wake(), HasSubstr("exited with status 7"));
}

TEST_F(SupervisorSleepTest, AReloadWhoseForkServersAreAllGoneEndsWhenTheCodeDoesNotLoadAgain) {
  serve_with_spares(1);
  fall_asleep();
  std::optional<ReloadOutcome> outcome;
  supervisor->reload([&](const ReloadOutcome& o) { outcome = o; });
  launcher.loads.loaded({2});
  launcher.loads.lost({1}, Exit{.pid = 1, .signal = SIGKILL});
  launcher.loads.lost({2}, Exit{.pid = 2, .signal = SIGKILL});
  EXPECT_FALSE(outcome) << "it is loaded again";
  launcher.loads.load_failed({3}, {"no module named app"});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->error, "no module named app");
}

TEST_F(SupervisorSleepTest, AReloadWhoseWarmthIsLetGoMeanwhileIsLoadedFirstAndThenLetGo) {
  serve(1);
  fall_asleep();
  supervisor->drop_warmth();
  launcher.said.clear();
  std::optional<ReloadOutcome> outcome;
  supervisor->reload([&](const ReloadOutcome& o) { outcome = o; });
  supervisor->drop_warmth();
  EXPECT_FALSE(outcome) << "it still loads";
  EXPECT_THAT(launcher.said, ElementsAre("load 2"));
  launcher.loads.loaded({2});
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->succeeded);
  EXPECT_THAT(launcher.said, ElementsAre("load 2", "drop 2"));
  supervisor->wake();
  EXPECT_EQ(launcher.said.back(), "load 3");
}

TEST_F(SupervisorSleepTest, AReloadWhoseWarmthIsLetGoMeanwhileFailsWithItsOwnCauseAndThenAllIsLetGo) {
  serve(1);
  fall_asleep();
  std::optional<ReloadOutcome> outcome;
  supervisor->reload([&](const ReloadOutcome& o) { outcome = o; });
  supervisor->drop_warmth();
  EXPECT_FALSE(outcome);
  launcher.loads.load_failed({2}, {"no module named app"});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->error, "no module named app");
  EXPECT_THAT(launcher.said, ElementsAre("load 2", "drop 1"));
}

TEST_F(SupervisorSleepTest, AReloadWhoseSparesAreLetGoMeanwhileEndsWithTheSpareThatStarts) {
  serve_with_spares(1);
  fall_asleep();
  std::optional<ReloadOutcome> outcome;
  supervisor->reload([&](const ReloadOutcome& o) { outcome = o; });
  launcher.loads.loaded({2});
  supervisor->drop_warmth();
  EXPECT_FALSE(outcome);
  launcher.links.at({3}).parked({3});
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->succeeded);
  exits(2, 0);
  exits(3, 0);
  EXPECT_THAT(supervisor->describe().workers, IsEmpty());
}

TEST_F(SupervisorSleepTest, AWakeDuringAStopLoadsNothing) {
  serve(1);
  supervisor->sleep();
  supervisor->drop_warmth();
  supervisor->stop();
  launcher.said.clear();
  supervisor->wake();
  EXPECT_THAT(launcher.said, IsEmpty());
  exits(1, 0);
  EXPECT_EQ(exit_code, 0);
}

TEST_F(SupervisorSleepTest, AStopEndsTheSpares) {
  serve_with_spares(1);
  supervisor->stop();
  EXPECT_THAT(launcher.said, testing::Contains("signal " + std::to_string(SIGTERM) + " to 2"));
  exits(1, 0);
  exits(2, 0);
  EXPECT_EQ(exit_code, 0);
}
}  // namespace
}  // namespace moult
