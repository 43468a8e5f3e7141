// What goes on while the store is away: routine holds, urgent goes ahead after its wait, and pays.
#include "lease/fallback_gate.h"

#include <gmock/gmock.h>

#include "tests/store/gate_on_redis.h"

namespace moult {
namespace {
using namespace std::chrono_literals;

class FallbackGateOnALoop : public GatesOnRedis {
 protected:
  std::unique_ptr<FallbackGate> fallback(const std::string& instance) {
    return std::make_unique<FallbackGate>(loop.get(), FallbackOptions{options(instance), urgent_wait},
                                          [this] { return capacity; });
  }
  std::uint64_t refusals(const FallbackGate& gate, Refusal why) {
    return gate.describe().refusals.at(static_cast<std::size_t>(why));
  }
  Duration urgent_wait = 100ms;
};

TEST_F(FallbackGateOnALoop, RoutineHoldsWhileTheStoreIsAway) {
  server.stop();
  const auto a = fallback("a");
  EXPECT_EQ(asked(*a, Urgency::routine, 200ms)->refused(), Refusal::store_unreachable);
  EXPECT_EQ(refusals(*a, Refusal::store_unreachable), 1u);
  EXPECT_STREQ(a->describe().state, "unreachable");
  EXPECT_EQ(a->describe().ungated, 0u);
  const AnswerTimes& took = a->describe().answer_times;
  EXPECT_EQ(took.counts[0] + took.counts[1] + took.counts[2], 0u)
      << "its budget was 200 ms, and it is told when the next attempt does not fit";
  EXPECT_GT(took.sum, 100ms);
}

TEST_F(FallbackGateOnALoop, UrgentGoesUngatedAfterItsWaitAndAJitterAndPaysWhenTheStoreIsBack) {
  server.stop();
  const auto a = fallback("a");
  const auto question = asked(*a, Urgency::pressure);
  ASSERT_TRUE(question->granted());
  EXPECT_FALSE(question->granted()->gated);
  EXPECT_EQ(question->granted()->fencing_token, 0u);
  EXPECT_GE(question->granted()->waited, 100ms);
  EXPECT_GE(question->took(), 100ms);
  GateDescription shown = a->describe();
  EXPECT_EQ(shown.granted, 0u) << "nobody granted it";
  EXPECT_EQ(shown.ungated, 1u);
  EXPECT_EQ(refusals(*a, Refusal::store_unreachable), 1u);
  EXPECT_EQ(shown.owed, 1u);
  EXPECT_NEAR(shown.tokens, 1, 0.01);  // of its own ledger
  server.start();
  EXPECT_TRUE(comes_true([&] { return a->describe().owed == 0; }));
  EXPECT_NEAR(look(*a)->tokens, 1, 0.01);
}

TEST_F(FallbackGateOnALoop, AStoreThatStandsStillIsAsGoodAsAway) {
  const auto a = fallback("a");
  ASSERT_TRUE(comes_true([&] { return stored().instances.size() == 1; }));
  server.signal(SIGSTOP);
  const auto question = asked(*a, Urgency::hard_limit);
  ASSERT_TRUE(question->granted());
  EXPECT_FALSE(question->granted()->gated);
  server.signal(SIGCONT);
  EXPECT_TRUE(comes_true([&] { return a->describe().owed == 0; }));
  EXPECT_NEAR(look(*a)->tokens, 1, 0.01) << "neither a lease nor a token of the question that was given up";
  EXPECT_TRUE(look(*a)->permits.empty());
}

TEST_F(FallbackGateOnALoop, WhoAsksIsToldWhatAWaitIsFor) {
  urgent_wait = 1s;
  const auto a = fallback("a"), b = fallback("b");
  std::vector<Refusal> told;
  b->on_waiting([&](AskId ask, Refusal why, MonotonicTime until) {
    EXPECT_EQ(ask, AskId{1});
    EXPECT_GT(until, loop.now());
    if (told.empty() || told.back() != why) told.push_back(why);
  });
  auto held = asked(*a);
  ASSERT_TRUE(held->granted());
  const auto urgent = ask(*b, Urgency::hard_limit);
  ASSERT_TRUE(comes_true([&] { return !told.empty(); }));
  server.signal(SIGSTOP);
  ASSERT_TRUE(comes_true([&] { return urgent->answer.has_value(); }));
  server.signal(SIGCONT);
  EXPECT_THAT(told, testing::ElementsAre(Refusal::lease_held, Refusal::store_unreachable));
  EXPECT_FALSE(urgent->granted()->gated);
}

TEST_F(FallbackGateOnALoop, NothingGoesUngatedBelowTheInstancesOwnMinimum) {
  server.stop();
  const auto a = fallback("a");
  capacity = {4, 2};
  const auto question = asked(*a, Urgency::pressure);
  EXPECT_EQ(question->refused(), Refusal::below_minimum);
  EXPECT_EQ(a->describe().owed, 0u);
  capacity = {4, 3};
  EXPECT_TRUE(asked(*a, Urgency::pressure)->granted());
}

TEST_F(FallbackGateOnALoop, ALeaseThatIsFreeInTimeIsTaken) {
  urgent_wait = 10s;
  const auto a = fallback("a"), b = fallback("b");
  auto held = asked(*a);
  ASSERT_TRUE(held->granted());
  const auto urgent = ask(*b, Urgency::hard_limit);
  loop.run_for(300ms);
  EXPECT_FALSE(urgent->answer);
  held.reset();
  ASSERT_TRUE(comes_true([&] { return urgent->answer.has_value(); }));
  ASSERT_TRUE(urgent->granted());
  EXPECT_TRUE(urgent->granted()->gated);
  EXPECT_EQ(b->describe().ungated, 0u);
}

TEST_F(FallbackGateOnALoop, ALeaseThatStaysOutIsNotWaitedForForEver) {
  const auto a = fallback("a"), b = fallback("b");
  const auto held = asked(*a);
  const auto urgent = asked(*b, Urgency::hard_limit);
  ASSERT_TRUE(urgent->granted());
  EXPECT_FALSE(urgent->granted()->gated);
  EXPECT_TRUE(comes_true([&] { return b->describe().owed == 0; }));
  EXPECT_NEAR(look(*b)->tokens, 0, 0.01);  // one of two for the lease, one for what went ahead
}

TEST_F(FallbackGateOnALoop, WhatTheBucketNoLongerAffordsGoesAheadAfterAJitterAndIsDebited) {
  urgent_wait = 300ms;
  const auto a = fallback("a");
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(asked(*a, Urgency::hard_limit)->granted()->gated) << i;
  const auto urgent = asked(*a, Urgency::hard_limit);
  ASSERT_TRUE(urgent->granted());
  EXPECT_FALSE(urgent->granted()->gated);
  EXPECT_TRUE(comes_true([&] { return a->describe().owed == 0; }));
  EXPECT_NEAR(look(*a)->tokens, -3, 0.01);
}

TEST_F(FallbackGateOnALoop, AnHourOfPressureWithoutAStoreIsPaidBackToTheLastOne) {
  urgent_wait = 1ms;
  policy.tokens_per_hour = 60;
  const auto a = fallback("a");
  ASSERT_TRUE(comes_true([&] { return stored().instances.size() == 1; }));
  server.stop();
  for (int i = 0; i < 100; ++i) ASSERT_FALSE(asked(*a, Urgency::pressure)->granted()->gated);
  EXPECT_EQ(a->describe().owed, 100u);
  EXPECT_LT(a->describe().tokens, -90);
  server.start();
  EXPECT_TRUE(comes_true([&] { return a->describe().owed == 0; }));
  EXPECT_NEAR(look(*a)->tokens, 2 - 100, 1);
}
}  // namespace
}  // namespace moult
