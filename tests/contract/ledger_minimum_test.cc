// Minimum healthy: those that serve over those that are wanted, over the whole fleet, after this one.
#include "tests/contract/ledger_contract.h"

namespace moult {
namespace {
using namespace std::chrono_literals;

class LedgerMinimum : public LedgerContract {
 protected:
  LedgerMinimum() {
    policy.permits = 10;
    policy.minimum_healthy_percent = 50;
  }
  LedgerAnswer acquire_with(unsigned wanted, unsigned healthy, Urgency urgency = Urgency::routine) {
    return ask(Acquire{{++operations}, "a", urgency, now + 1s, {"a", wanted, healthy}, cost});
  }
};
INSTANTIATE_TEST_SUITE_P(Ledger, LedgerMinimum, testing::ValuesIn(ledger_forms()), ledger_form_name);

TEST_P(LedgerMinimum, HoldsAtTheEdge) {
  EXPECT_TRUE(granted(acquire_with(4, 3)));  // leaves 2 of 4
  EXPECT_TRUE(refused(acquire_with(4, 2), Refusal::below_minimum));
}

TEST_P(LedgerMinimum, CountsTheFleetAndNotOnlyTheAsker) {
  heartbeat("b", 4, 4);
  EXPECT_TRUE(granted(acquire_with(4, 1)));  // leaves 4 of 8
  heartbeat("b", 4, 3);
  EXPECT_TRUE(refused(acquire_with(4, 1), Refusal::below_minimum));
}

TEST_P(LedgerMinimum, IsTheSameForUrgentOnes) {
  EXPECT_TRUE(refused(acquire_with(4, 2, Urgency::pressure), Refusal::below_minimum));
  EXPECT_EQ(hint(acquire_with(4, 2, Urgency::pressure)), ask_again_urgent);
  EXPECT_EQ(hint(acquire_with(4, 2)), ask_again_routine);
}

TEST_P(LedgerMinimum, ASurgeCostsNoCapacity) {
  cost = 0;
  EXPECT_TRUE(granted(acquire_with(1, 1)));
  EXPECT_TRUE(granted(acquire_with(4, 0)));
}

TEST_P(LedgerMinimum, AnAskerOfWhomNobodyServesHasNothingToSpare) {
  heartbeat("b", 0, 0);
  EXPECT_TRUE(refused(acquire_with(0, 0), Refusal::below_minimum));
}

TEST_P(LedgerMinimum, OneInstancesSurplusDoesNotMakeUpForAnothersLack) {
  heartbeat("b", 4, 8);
  EXPECT_TRUE(granted(acquire_with(4, 1)));
  heartbeat("c", 2, 0);
  EXPECT_TRUE(refused(acquire_with(4, 1), Refusal::below_minimum));
}

TEST_P(LedgerMinimum, WhatWasGrantedSinceTheLastHeartbeatIsAwayAlready) {
  heartbeat("a", 4, 4);
  token(ask(Acquire{{++operations}, "b", Urgency::routine, now + 1s, {"b", 4, 2}, 1}));  // 4 + 2 - 1 of 8
  const LedgerAnswer with_one_away = acquire_with(4, 3);                                 // 3 + 2 - 1 - 1 of 8
  EXPECT_TRUE(refused(with_one_away, Refusal::below_minimum));
  now += 1s;
  heartbeat("b", 4, 2);  // its slot serves again already
  EXPECT_TRUE(granted(acquire_with(4, 3)));
}

TEST_P(LedgerMinimum, WhatWasGrantedBeforeTheClockWasSetBackIsSeenInLaterHeartbeatsToo) {
  heartbeat("a", 4, 4);
  token(ask(Acquire{{++operations}, "b", Urgency::routine, now + 1s, {"b", 4, 2}, 1}));
  now -= 1min;
  heartbeat("b", 4, 2);
  now += 1s;
  heartbeat("b", 4, 2);
  EXPECT_TRUE(granted(acquire_with(4, 3)));
}

TEST_P(LedgerMinimum, AnInstanceThatVanishedCountsAsUnhealthyForTenMinutesAndIsThenForgotten) {
  heartbeat("b", 8, 8);
  now += 15s - 1us;
  EXPECT_TRUE(granted(acquire_with(4, 4)));
  now += 1us;
  EXPECT_TRUE(refused(acquire_with(4, 4), Refusal::below_minimum));  // 4 of 12
  now += 10min - 1us;
  EXPECT_TRUE(refused(acquire_with(4, 4), Refusal::below_minimum));
  now += 1us;
  EXPECT_TRUE(granted(acquire_with(4, 4)));
}

TEST_P(LedgerMinimum, AnInstanceAsleepOrStoppedIsNotMissed) {
  heartbeat("b", 8, 8);
  heartbeat("b", 0, 0);
  now += 1min;
  EXPECT_TRUE(granted(acquire_with(4, 4)));
}

TEST_P(LedgerMinimum, OneThatComesBackIsHealthyAgain) {
  heartbeat("b", 8, 8);
  now += 1min;
  EXPECT_TRUE(refused(acquire_with(4, 4), Refusal::below_minimum));
  heartbeat("b", 8, 8);
  EXPECT_TRUE(granted(acquire_with(4, 4)));
}

TEST_P(LedgerMinimum, NobodyIsHeldToAMinimumOfZero) {
  policy.minimum_healthy_percent = 0;
  EXPECT_TRUE(granted(acquire_with(4, 0)));
}

TEST_P(LedgerMinimum, AHeartbeatFromTheFutureIsTakenAsOneOfNow) {
  heartbeat("b", 8, 8);
  now -= 1h;
  EXPECT_TRUE(granted(acquire_with(4, 4)));
  now += 15s;
  EXPECT_TRUE(refused(acquire_with(4, 4), Refusal::below_minimum));
}

TEST_P(LedgerMinimum, TheTableOfInstancesIsBoundedAndForgetsTheLongestUnheard) {
  heartbeat("first", 1000, 0);
  now += 1us;
  for (unsigned i = 1; i < most_instances; ++i) heartbeat("i" + std::to_string(i), 0, 0);
  EXPECT_TRUE(granted(acquire_with(4, 4)));  // takes the place of "first", with which 3 of 1004 would serve
}

TEST_P(LedgerMinimum, OneThatVanishedAndThenGivesUpItsPlaceIsNotMissedTwice) {
  heartbeat("first", 1000, 1000);
  now += 15s;
  for (unsigned i = 1; i < most_instances; ++i) heartbeat("i" + std::to_string(i), 0, 0);
  EXPECT_EQ(look().health, (FleetHealth{1000, 0}));
  EXPECT_TRUE(granted(acquire_with(4, 4)));
  EXPECT_EQ(look().health, (FleetHealth{4, 3}));
}
}  // namespace
}  // namespace moult
