// From the level to the change: who is held back, since when, by what.
#include "master/recycling/hold_log.h"

#include <gtest/gtest.h>
namespace moult {
namespace {
using namespace std::chrono_literals;

MonotonicTime at(Duration since) { return MonotonicTime(100s + since); }

struct HoldLogTest : testing::Test {
  HoldLog holds;
  Pool pool;
  HoldLogTest() {
    pool.goal.workers = 1;
    pool.goal.proven = pool.goal.candidate = {1};
    pool.slots.resize(1);
    pool.workers = {{{1}, 0u, {1}, WorkerState::serving, at(0s)}};
  }
  void judge(const Decision& decision) { pool.workers[0].decision = decision; }
};

TEST_F(HoldLogTest, TellsTheBeginningOnceAndTheEndWithItsLength) {
  judge(Hold{HoldReason::cooldown, at(9s), {}});
  const auto begun = holds.update(pool, at(1s));
  ASSERT_EQ(begun.size(), 1u);
  EXPECT_EQ(begun[0].begun->until, at(9s));
  EXPECT_TRUE(holds.update(pool, at(2s)).empty()) << "the same again";
  judge(Keep{});
  const auto ended = holds.update(pool, at(4s));
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_FALSE(ended[0].begun);
  EXPECT_EQ(ended[0].lasted, 3s);
}

TEST_F(HoldLogTest, AnotherReasonEndsTheFirstAndBeginsAnew) {
  judge(Hold{HoldReason::second_reading, at(9s), {}});
  holds.update(pool, at(1s));
  judge(Hold{HoldReason::cooldown, at(9s), {}});
  const auto changes = holds.update(pool, at(2s));
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].why, HoldReason::second_reading);
  EXPECT_EQ(changes[1].why, HoldReason::cooldown);
  EXPECT_EQ(holds.holding({1})->why, HoldReason::cooldown);
}

TEST_F(HoldLogTest, TheGatesRefusalIsAHoldOfAWorkerThatIsToGo) {
  judge(Recycle{Cause::limit, Urgency::routine, {}});
  pool.refused = {Rank::routine, at(60s), Refusal::no_tokens};
  const auto changes = holds.update(pool, at(1s));
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].why, HoldReason::no_tokens);
  EXPECT_EQ(changes[0].begun->until, at(60s));
}

TEST_F(HoldLogTest, ReplacementsThatCannotBootHoldBack) {
  judge(Recycle{Cause::limit, Urgency::routine, {}});
  pool.slots[0].retry_at = at(5s);
  EXPECT_EQ(holds.update(pool, at(1s)).at(0).why, HoldReason::boot_failing);
}

TEST_F(HoldLogTest, WhoAsksTheGateWaitsForNothingElse) {
  judge(Recycle{Cause::limit, Urgency::routine, {}});
  pool.turns = {{{1}, 0, Rank::routine, TurnStage::asking, Order::successor_first, {1}, never}};
  EXPECT_TRUE(holds.update(pool, at(1s)).empty());
}

TEST_F(HoldLogTest, AHoldThatTheGateRenewsIsOneHold) {
  judge(Recycle{Cause::limit, Urgency::routine, {}});
  pool.refused = {Rank::routine, at(5s), Refusal::no_tokens};
  holds.update(pool, at(1s));
  pool.turns = {{{1}, 0, Rank::routine, TurnStage::asking, Order::successor_first, {1}, never}};
  EXPECT_TRUE(holds.update(pool, at(5s)).empty()) << "it is asked about";
  pool.turns.clear();
  pool.refused.retry_at = at(9s);
  EXPECT_TRUE(holds.update(pool, at(6s)).empty());
  EXPECT_EQ(holds.holding({1})->until, at(9s));
}

TEST_F(HoldLogTest, WhatHeldItBackBeforeTheQuestionEndsWithTheQuestion) {
  judge(Hold{HoldReason::second_reading, at(9s), {}});
  holds.update(pool, at(1s));
  judge(Recycle{Cause::hard_limit, Urgency::hard_limit, {}});
  pool.turns = {{{1}, 0, Rank::hard_limit, TurnStage::asking, Order::successor_first, {1}, never}};
  const auto ended = holds.update(pool, at(1100ms));
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].lasted, 100ms);
  EXPECT_FALSE(holds.holding({1})) << "an answer that comes soon needs no reason";
}

TEST_F(HoldLogTest, WhatTheQuestionWaitsForHoldsBackAllThatItIsAbout) {
  pool.goal.workers = 2;
  pool.slots.resize(2);
  pool.workers.push_back({{2}, 1u, {1}, WorkerState::serving, at(0s)});
  for (Worker& each : pool.workers) each.decision = Recycle{Cause::hard_limit, Urgency::hard_limit, {}};
  pool.turns = {{{1}, 0, Rank::hard_limit, TurnStage::asking, Order::successor_first, {1}, never}};
  EXPECT_TRUE(holds.update(pool, at(1s)).empty());
  pool.turns[0].waits_for = WaitsFor{Refusal::store_unreachable, at(4s)};
  const auto begun = holds.update(pool, at(2s));
  ASSERT_EQ(begun.size(), 2u);
  for (const HoldChange& each : begun) {
    EXPECT_EQ(each.why, HoldReason::store_unreachable);
    EXPECT_EQ(each.begun->until, at(4s));
  }
  EXPECT_EQ(holds.so_far({1}, at(4s)).at(0).lasted, 2s);
}

TEST_F(HoldLogTest, OfOneThatIsGoneEndsWithItsLength) {
  judge(Hold{HoldReason::cooldown, at(9s), {}});
  holds.update(pool, at(1s));
  EXPECT_EQ(holds.end({1}, at(3s))->lasted, 2s);
  EXPECT_FALSE(holds.end({1}, at(3s)));
}

TEST_F(HoldLogTest, AddsUpWhatHeldOneWorkerByReason) {
  judge(Hold{HoldReason::cooldown, at(9s), {}});
  holds.update(pool, at(1s));
  judge(Keep{});
  holds.update(pool, at(2s));
  judge(Hold{HoldReason::cooldown, at(9s), {}});
  holds.update(pool, at(5s));
  const auto held = holds.so_far({1}, at(7s));
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0].lasted, 3s);
}

TEST_F(HoldLogTest, WhatHeldItBackBeforeATurnThatIsAbandonedIsToldOfTheNextOneToo) {
  judge(Hold{HoldReason::cooldown, at(9s), {}});
  holds.update(pool, at(1s));
  judge(Recycle{Cause::limit, Urgency::routine, {}});
  EXPECT_EQ(holds.so_far({1}, at(3s)).at(0).lasted, 2s) << "it begins, and the hold that is on counts";
  pool.turns = {{{1}, 0, Rank::routine, TurnStage::replacing, Order::successor_first, {}, at(60s)}};
  ASSERT_EQ(holds.update(pool, at(3s)).size(), 1u) << "its end is told";
  pool.turns.clear();  // its successor did not boot
  pool.slots[0].retry_at = at(8s);
  holds.update(pool, at(4s));
  const auto held = holds.so_far({1}, at(8s));
  ASSERT_EQ(held.size(), 2u);
  EXPECT_EQ(held[0].why, HoldReason::cooldown);
  EXPECT_EQ(held[0].lasted, 2s);
  EXPECT_EQ(held[1].why, HoldReason::boot_failing);
  EXPECT_EQ(held[1].lasted, 4s);
}

TEST_F(HoldLogTest, ForgetsThoseWhoAreGone) {
  judge(Hold{HoldReason::cooldown, at(9s), {}});
  holds.update(pool, at(1s));
  pool.workers.clear();
  EXPECT_EQ(holds.update(pool, at(2s)).size(), 1u);
  EXPECT_FALSE(holds.holding({1}));
  EXPECT_TRUE(holds.so_far({1}, at(3s)).empty());
}
}  // namespace
}  // namespace moult
