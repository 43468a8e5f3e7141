// The supervisor on a real loop, with a launcher whose workers do what the test says: what the pool orders reaches the
// right link, what links say reaches the pool and the observers, and a reload ends as it should.
#include "master/pool/supervisor.h"

#include <gmock/gmock.h>

#include <csignal>

#include "master/pool/held_back.h"
#include "tests/unit/pool/supervisor_fixture.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(SupervisorTest, LoadsThenLaunchesThenServes) {
  supervisor->start(2);
  EXPECT_THAT(launcher.said, ElementsAre("load 1"));
  launcher.loads.loaded({1});
  EXPECT_THAT(launcher.said, ElementsAre("load 1", "launch 1", "launch 2"));
  launcher.links.at({1}).ready({1}, Drain::close);
  EXPECT_THAT(notes.notes, ElementsAre("serving 1"));
  EXPECT_EQ(supervisor->describe().workers.at(0).state, WorkerState::serving);
}

TEST_F(SupervisorTest, AnAppThatDoesNotLoadEndsItWithExit4AndTheCause) {
  supervisor->start(1);
  launcher.loads.load_failed({1}, {"Traceback: no module named x"});
  EXPECT_EQ(exit_code, 4);
  EXPECT_THAT(notes.notes, ElementsAre("rejected for Traceback: no module named x 1"));
}

TEST_F(SupervisorTest, HowItEndedIsSaidOnce) {
  int times = 0;
  supervisor->on_finished([&](int code) {
    EXPECT_EQ(code, 4);
    ++times;
  });
  supervisor->start(1);
  launcher.loads.load_failed({1}, {"no module named x"});
  supervisor->stop();
  supervisor->stop_quickly();
  EXPECT_EQ(times, 1);
}

TEST_F(SupervisorTest, WhatTheGateWaitsForIsKnownOfTheWorkerThatItIsAbout) {
  serve(2);
  supervisor->judge({{{1}, Recycle{Cause::hard_limit, Urgency::hard_limit, {}}}});
  const auto held = [&] { return held_back(supervisor->pool(), *find(supervisor->pool(), {1}), MonotonicTime(1s)); };
  EXPECT_FALSE(held());
  gate.waiting({gate.asked.value + 1}, Refusal::lease_held, MonotonicTime(9s));
  EXPECT_FALSE(held()) << "of another question";
  gate.waiting(gate.asked, Refusal::store_unreachable, MonotonicTime(9s));
  ASSERT_TRUE(held());
  EXPECT_EQ(held()->why, HoldReason::store_unreachable);
  EXPECT_EQ(held()->until, MonotonicTime(9s));
}

TEST_F(SupervisorTest, WorkersThatNeverGetReadyEndItWithExit3) {
  supervisor->start(1);
  launcher.loads.loaded({1});
  exits(1, 0);
  exits(2, 0);
  EXPECT_EQ(exit_code, 3);
  EXPECT_EQ(supervisor->describe().boot_error, "exited with status 0");
}

TEST_F(SupervisorTest, NothingIsKeptOfAQuestionThatWasRefused) {
  serve(2);
  for (int i = 0; i < 5; ++i) {
    supervisor->judge({{{1}, Recycle{Cause::hard_limit, Urgency::hard_limit, {}}}});
    ASSERT_EQ(gate.living, 1u);
    const auto answer = gate.answer;
    answer(Refused{Refusal::below_minimum, 0s});
    supervisor->judge({{{1}, Keep{}}});
  }
  EXPECT_EQ(gate.living, 0u);
}

TEST_F(SupervisorTest, ACrashedWorkerIsReplacedAndItsCauseIsShown) {
  serve(2);
  const WallTime before = std::chrono::system_clock::now();
  exits(1, 7);
  EXPECT_THAT(launcher.said, ElementsAre("launch 3"));
  EXPECT_THAT(notes.notes, ElementsAre("gone 1"));
  EXPECT_EQ(supervisor->describe().boot_error, "worker 0 crashed: exited with status 7");
  EXPECT_GE(supervisor->describe().boot_error_at, before);
  EXPECT_LE(supervisor->describe().boot_error_at, std::chrono::system_clock::now());
  EXPECT_LT(supervisor->describe().boot_error_age, 10s);
}

TEST_F(SupervisorTest, AReloadIsFinishedWhenEverySlotServesTheNewCodeAndNobodyNewCanMeetTheOld) {
  serve(2);
  std::optional<ReloadOutcome> outcome;
  supervisor->reload([&](const ReloadOutcome& o) { outcome = o; });
  launcher.loads.loaded({2});
  launcher.links.at({3}).ready({3}, Drain::close);
  EXPECT_THAT(launcher.said, ElementsAre("load 2", "launch 3", "drop 1", "retire 1"));
  exits(1, 0);
  launcher.links.at({4}).ready({4}, Drain::close);
  EXPECT_EQ(launcher.said.back(), "retire 2");
  EXPECT_FALSE(outcome);  // the last old one may still accept
  launcher.links.at({2}).stopping({2});
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->succeeded);
}

TEST_F(SupervisorTest, AWorkerThatStopsByItselfIsLookedAtAgain) {
  serve(1);
  notes.times_settled = 0;
  launcher.links.at({1}).stopping({1});
  EXPECT_EQ(notes.times_settled, 1u);
}

TEST_F(SupervisorTest, AReloadWaitsForTheEndOfAnOldWorkerThatDoesNotSayThatItStopsAccepting) {
  serve(1);
  std::optional<ReloadOutcome> outcome;
  supervisor->reload([&](const ReloadOutcome& o) { outcome = o; });
  launcher.loads.loaded({2});
  launcher.links.at({2}).ready({2}, Drain::close);
  EXPECT_FALSE(outcome);
  exits(1, 0);
  EXPECT_TRUE(outcome);
}

TEST_F(SupervisorTest, AReloadToCodeThatCannotBootFailsWithItsCauseAndTheOldCodeServes) {
  serve(1);
  std::optional<ReloadOutcome> outcome;
  supervisor->reload([&](const ReloadOutcome& o) { outcome = o; });
  launcher.loads.loaded({2});
  launcher.links.at({2}).gone({2}, Exit{.pid = 1, .status = 1, .cause = "Traceback: boom"});
  uv_run(&loop, UV_RUN_ONCE);  // the back-off of a replacement beside an old worker, about 1 s
  ASSERT_TRUE(launcher.links.contains({3}));
  launcher.links.at({3}).gone({3}, Exit{.pid = 1, .status = 1, .cause = "Traceback: boom"});
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->succeeded);
  EXPECT_EQ(outcome->error, "exited with status 1\nTraceback: boom");
  EXPECT_EQ(supervisor->describe().workers.at(0).generation, Generation{1});
}

TEST_F(SupervisorTest, WhoWaitsForAReloadThatALaterOneSupersedesHearsHowThatOneEnds) {
  serve(1);
  std::vector<Generation> ended;
  const auto note_end = [&](const ReloadOutcome& o) { ended.push_back(o.generation); };
  supervisor->reload(note_end);
  supervisor->reload(note_end);
  EXPECT_THAT(ended, IsEmpty());
  launcher.loads.loaded({3});
  launcher.links.at({2}).ready({2}, Drain::close);
  exits(1, 0);
  EXPECT_THAT(ended, ElementsAre(Generation{3}, Generation{3}));
}

TEST_F(SupervisorTest, AQuickStopThatIsAskedForTwiceKills) {
  serve(1);
  supervisor->stop_quickly();
  EXPECT_EQ(launcher.said.back(), "signal " + std::to_string(SIGINT) + " to 1");
  supervisor->stop_quickly();
  uv_run(&loop, UV_RUN_ONCE);
  EXPECT_EQ(launcher.said.back(), "signal " + std::to_string(SIGKILL) + " to 1");
}

TEST_F(SupervisorTest, BootsThatFailForWantOfRoomDoNotCountAgainstTheCodeWhileOthersLive) {
  supervisor->start(5);
  launcher.loads.loaded({1});
  const Exit no_room{.stage = "open files", .error = EMFILE};
  for (std::uint64_t id = 2; id <= 5; ++id) launcher.links.at({id}).gone({id}, no_room);
  EXPECT_FALSE(exit_code);
  launcher.links.at({1}).ready({1}, Drain::close);
  EXPECT_EQ(supervisor->describe().boot_error, "open files: Too many open files");
}

TEST_F(SupervisorTest, WhereNotEvenOneWorkerHasRoomItEndsWithExit3) {
  supervisor->start(1);
  launcher.loads.loaded({1});
  const Exit no_room{.stage = "open files", .error = EMFILE};
  launcher.links.at({1}).gone({1}, no_room);
  launcher.links.at({2}).gone({2}, no_room);
  EXPECT_EQ(exit_code, 3);
}

TEST_F(SupervisorTest, AStopRetiresTheWorkersDropsTheCodeAndEndsWithExit0) {
  serve(1);
  supervisor->stop();
  EXPECT_THAT(launcher.said, ElementsAre("drop 1", "retire 1"));
  exits(1, 0);
  EXPECT_EQ(exit_code, 0);
}

TEST_F(SupervisorTest, TheLastWorkerOfAStopIsToldThatNobodyTakesWhatItGivesUp) {
  supervisor->on_connections({.stored = [](WorkerId, std::uint64_t, UniqueFd) {}});
  serve(3);
  supervisor->scale(2);
  EXPECT_THAT(launcher.said, ElementsAre("retire 3, others follow"));
  exits(3, 0);
  supervisor->stop();
  EXPECT_EQ(launcher.said.back(), "retire 2, others follow");
  exits(2, 0);
  EXPECT_EQ(launcher.said.back(), "retire 1");
}

TEST_F(SupervisorTest, WhereNothingIsParkedEachWorkerIsToldSo) {
  serve(2);
  supervisor->scale(1);
  EXPECT_THAT(launcher.said, ElementsAre("retire 2"));
}

TEST_F(SupervisorTest, TellsWhenAWorkerIsNextNeeded) {
  serve(1);
  launcher.links.at({1}).next_due({1}, "17");
  EXPECT_THAT(notes.notes, ElementsAre("due 17 1"));
}

TEST_F(SupervisorTest, AWorkerThatBreaksTheContractBeforeReadyIsNotLetIn) {
  supervisor->start(1);
  launcher.loads.loaded({1});
  launcher.links.at({1}).refused({1}, "it speaks contract version 9, not 1");
  EXPECT_EQ(launcher.said.back(), "signal " + std::to_string(SIGKILL) + " to 1");
  launcher.links.at({1}).gone({1}, Exit{.pid = 1, .signal = SIGKILL});
  EXPECT_EQ(supervisor->describe().boot_error, "killed by SIGKILL\nit speaks contract version 9, not 1");
}

TEST_F(SupervisorTest, MendedCodeIsBootedAtOnceWhereNobodyServes) {
  serve(1);
  exits(1, 1);  // tried again at once
  exits(2, 1);
  ASSERT_FALSE(launcher.links.contains({3})) << "the slot backs off";
  ASSERT_EQ(supervisor->describe().waiting_slots.size(), 1u);
  EXPECT_EQ(supervisor->describe().waiting_slots[0].failed_boots, 2u);
  supervisor->reload([](const ReloadOutcome&) {});
  launcher.loads.loaded({2});
  ASSERT_TRUE(launcher.links.contains({3}));
  EXPECT_EQ(launcher.generations.at({3}), Generation{2});
  EXPECT_THAT(supervisor->describe().waiting_slots, IsEmpty());
}

TEST_F(SupervisorTest, CodeWhoseWorkersAreNotAdmittedIsRejectedAtOnceAndTheOldOneServesOn) {
  serve(1);
  Supervisor::Trial asked{};
  supervisor->on_admission([&](const Worker&, pid_t, Supervisor::Trial trial) {
    asked = trial;
    return Result<void>(Error{"too heavy"});
  });
  ReloadOutcome outcome{true, "", {}};
  supervisor->reload([&](const ReloadOutcome& ended) { outcome = ended; });
  launcher.loads.loaded({2});
  launcher.links.at({2}).ready({2}, Drain::close);
  EXPECT_EQ(asked, Supervisor::Trial::first_of_its_code);
  EXPECT_TRUE(outcome.succeeded) << "not told yet: a visitor may still meet the refused worker";
  launcher.links.at({2}).gone({2}, Exit{.pid = 2, .signal = SIGTERM});
  EXPECT_FALSE(outcome.succeeded);
  EXPECT_EQ(outcome.error, "too heavy");
  EXPECT_EQ(supervisor->describe().proven, Generation{1});
  EXPECT_EQ(supervisor->describe().candidate, Generation{1});
}

TEST_F(SupervisorTest, TheFirstCodeWhoseWorkersAreNotAdmittedEndsWithExit3) {
  supervisor->on_admission([](const Worker&, pid_t, Supervisor::Trial) { return Result<void>(Error{"too heavy"}); });
  supervisor->start(1);
  launcher.loads.loaded({1});
  launcher.links.at({1}).ready({1}, Drain::close);
  launcher.links.at({1}).gone({1}, Exit{.pid = 1, .signal = SIGTERM});
  EXPECT_EQ(exit_code, 3);
}

TEST_F(SupervisorTest, AWorkerOfCodeThatServesIsAdmittedWhateverTheAnswer) {
  serve(1);
  supervisor->on_admission([](const Worker&, pid_t, Supervisor::Trial trial) {
    EXPECT_EQ(trial, Supervisor::Trial::none);
    return Result<void>(Error{"too heavy"});
  });
  launcher.links.at({1}).gone({1}, Exit{.pid = 1, .signal = SIGKILL});
  launcher.links.at({2}).ready({2}, Drain::close);
  EXPECT_EQ(supervisor->describe().workers.at(0).state, WorkerState::serving);
}

TEST_F(SupervisorTest, AHungWorkerIsAbortedAndItsSlotIsFilledAtOnce) {
  serve(1);
  supervisor->hung({1}, "no heartbeat for 30.0 s");
  EXPECT_THAT(launcher.said, ElementsAre("signal " + std::to_string(SIGABRT) + " to 1", "launch 2"));
}
}  // namespace
}  // namespace moult
