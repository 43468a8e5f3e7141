// One recycle, from its beginning to the end of the process, as its one event line will tell it.
#include "master/recycling/recycles.h"

#include <gtest/gtest.h>

#include "worker/fork_protocol.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

MonotonicTime at(Duration since) { return MonotonicTime(100s + since); }
Worker serving(std::uint64_t id) { return {{id}, 0u, {1}, WorkerState::serving, at(0s)}; }

Recycle because(Cause cause, Urgency urgency) {
  Evidence evidence;
  evidence.limit_bytes = 100'000'000;
  evidence.hard_limit_bytes = 130'000'000;
  evidence.rss_bytes = urgency == Urgency::hard_limit ? evidence.hard_limit_bytes : evidence.limit_bytes;
  evidence.over_limit = 2s;
  evidence.over_hard = urgency == Urgency::hard_limit ? Duration(50ms) : Duration{};
  evidence.lifetime = 100s;
  return {cause, urgency, evidence};
}

struct RecyclesTest : testing::Test {
  Recycles recycles{AlarmPolicy{}};
  Worker worker = serving(1);
  void begin(Worker& which, MonotonicTime now, const Recycle& why = because(Cause::limit, Urgency::routine)) {
    recycles.begun(which, 77, {which.id, {1}, Order::successor_first, why}, {5, true, 3ms}, {}, now);
  }
};

TEST_F(RecyclesTest, TellsHowLongItWasOverWhenItWasToldToRetire) {
  begin(worker, at(0s));
  recycles.retiring(worker, 800, 90'000'000, at(3s));
  worker.state = WorkerState::retiring;
  const auto record = recycles.gone(worker, Exit{.pid = 77, .status = 0}, {803, 12}, at(5s));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->over_limit, 5s);
  EXPECT_EQ(record->over_hard, 0s) << "it never was";
  EXPECT_EQ(record->lifetime, 103s);
  EXPECT_EQ(record->requests, 803u);
  EXPECT_EQ(record->handed_over, 12u);
  EXPECT_EQ(record->freed_bytes, 90'000'000u);
  EXPECT_EQ(record->drained_for, 2s);
  EXPECT_EQ(record->drain, DrainOutcome::clean);
  EXPECT_EQ(record->gate.fencing_token, 5u);
  EXPECT_FALSE(record->gap);
}

TEST_F(RecyclesTest, TellsTheGapToTheBeginningOfTheOneBefore) {
  begin(worker, at(0s));
  recycles.retiring(worker, 1, 0, at(0s));
  recycles.gone(worker, Exit{.pid = 77, .status = 0}, {1}, at(1s));
  Worker next = serving(2);
  begin(next, at(120s));
  recycles.retiring(next, 1, 0, at(120s));
  EXPECT_EQ(recycles.gone(next, Exit{.pid = 77, .status = 0}, {1}, at(121s))->gap, 120s);
}

TEST_F(RecyclesTest, ThatBecameUrgentIsToldAsItWasAtTheEnd) {
  begin(worker, at(0s));
  worker.decision = because(Cause::hard_limit, Urgency::hard_limit);
  recycles.retiring(worker, 1, 0, at(1s));
  const auto record = recycles.gone(worker, Exit{.pid = 77, .status = 0}, {1}, at(2s));
  EXPECT_EQ(record->why.cause, Cause::hard_limit);
  EXPECT_EQ(record->over_hard, 50ms);
}

TEST_F(RecyclesTest, WhoIsSeenOverItsHardLimitForTheFirstTimeIsOverItUntilItIsToldToGo) {
  Recycle first_seen = because(Cause::hard_limit, Urgency::hard_limit);
  first_seen.evidence.over_limit = first_seen.evidence.over_hard = 0s;
  begin(worker, at(0s), first_seen);
  recycles.retiring(worker, 1, 0, at(5s));  // its successor booted
  const auto record = recycles.gone(worker, Exit{.pid = 77, .status = 0}, {1}, at(6s));
  EXPECT_EQ(record->over_hard, 5s);
  EXPECT_EQ(record->over_limit, 5s);
}

TEST_F(RecyclesTest, OfOneThatCountsNoRequestsNothingIsLearntOfLifetimes) {
  for (std::uint64_t id = 1; id <= 20; ++id) {
    Worker each = serving(id);
    begin(each, at(id * 10s));
    EXPECT_EQ(recycles.retiring(each, std::nullopt, 0, at(id * 10s)), AlarmChange::none);
    EXPECT_TRUE(recycles.gone(each, Exit{.pid = 77, .status = 0}, {0}, at(id * 10s + 1s)));
  }
}

TEST_F(RecyclesTest, ACommandThatEndsBySigtermEndedAsItWasTold) {
  begin(worker, at(0s));
  recycles.retiring(worker, std::nullopt, 0, at(0s));
  worker.state = WorkerState::retiring;
  EXPECT_EQ(recycles.gone(worker, Exit{.pid = 77, .signal = 15}, {0}, at(1s))->drain, DrainOutcome::clean);
}

TEST_F(RecyclesTest, TellsHowItWasEnded) {
  for (const auto& [state, outcome] : {std::pair{WorkerState::retiring, DrainOutcome::clean},
                                       std::pair{WorkerState::terminating, DrainOutcome::deadline},
                                       std::pair{WorkerState::killed, DrainOutcome::killed}}) {
    Worker each = serving(1);
    begin(each, at(0s));
    recycles.retiring(each, 1, 0, at(0s));
    each.state = state;
    EXPECT_EQ(recycles.gone(each, Exit{.pid = 77, .status = 0}, {1}, at(1s))->drain, outcome);
  }
}

TEST_F(RecyclesTest, TellsThatItCutRequestsOrWasKilledWhileItDrained) {
  const Exit cut{.pid = 77, .status = exit_with_requests_cut}, killed{.pid = 77, .signal = 9};
  for (const auto& [exit, drain] : {std::pair{cut, DrainOutcome::deadline}, std::pair{killed, DrainOutcome::killed}}) {
    Worker each = serving(1);
    begin(each, at(0s));
    recycles.retiring(each, 1, 0, at(0s));
    each.state = WorkerState::retiring;
    EXPECT_EQ(recycles.gone(each, exit, {1}, at(1s))->drain, drain);
  }
}

TEST_F(RecyclesTest, ThatEndedWithoutARetireWasNone) {
  begin(worker, at(0s));
  Pool pool;
  pool.workers = {worker};
  recycles.forget_abandoned(pool);  // its turn is over
  EXPECT_FALSE(recycles.in_hand({1}));
  recycles.retiring(worker, 1, 0, at(9s));  // a scale-down, later
  EXPECT_FALSE(recycles.gone(worker, Exit{.pid = 77, .status = 0}, {1}, at(10s)));
}

TEST_F(RecyclesTest, WhoseTurnGoesOnIsNotForgotten) {
  begin(worker, at(0s));
  Pool pool;
  pool.turns = {{{1}, 0, Rank::routine, TurnStage::replacing, Order::successor_first, {1}, at(60s)}};
  recycles.forget_abandoned(pool);
  EXPECT_TRUE(recycles.in_hand({1}));
}

TEST_F(RecyclesTest, OfAWorkerThatCrashedBeforeItWasToldToGoIsNone) {
  begin(worker, at(0s));
  EXPECT_FALSE(recycles.gone(worker, Exit{.pid = 77, .status = 0}, {1}, at(1s)));
}

TEST_F(RecyclesTest, FireTheAlarmOnceWhenTenLivesWereShort) {
  unsigned fired = 0;
  for (std::uint64_t id = 1; id <= 12; ++id) {
    Worker each = serving(id);
    begin(each, at(id * 10s));
    fired += recycles.retiring(each, 48, 0, at(id * 10s)) == AlarmChange::fired;
    EXPECT_EQ(fired, id < 10 ? 0u : 1u) << id;
  }
}
}  // namespace
}  // namespace moult
