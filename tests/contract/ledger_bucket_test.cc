// The token bucket: rate, burst, overdraft, debt.
#include "tests/contract/ledger_contract.h"

namespace moult {
namespace {
using namespace std::chrono_literals;

class LedgerBucket : public LedgerContract {
 protected:
  LedgerBucket() {
    policy.burst = 2;
    policy.tokens_per_hour = 3;
  }
  // Takes and gives the permit back, so that only the bucket is in the way.
  testing::AssertionResult recycles(const std::string& who = "a", Urgency urgency = Urgency::routine) {
    const LedgerAnswer answer = acquire(who, urgency);
    if (!granted(answer)) return testing::AssertionFailure() << "refused";
    ask(Release{who, granted(answer)->fencing_token});
    return testing::AssertionSuccess();
  }
};
INSTANTIATE_TEST_SUITE_P(Ledger, LedgerBucket, testing::ValuesIn(ledger_forms()), ledger_form_name);

TEST_P(LedgerBucket, ANewOneIsFullAndHoldsTheBurst) {
  EXPECT_TRUE(recycles());
  EXPECT_TRUE(recycles());
  EXPECT_TRUE(refused(acquire("a"), Refusal::no_tokens));
}

TEST_P(LedgerBucket, RefillsAtItsRateAndSaysWhenToAskAgain) {
  EXPECT_TRUE(recycles());
  EXPECT_TRUE(recycles());
  EXPECT_EQ(hint(acquire("a")), Duration(20min));
  now += 20min - 1us;
  EXPECT_TRUE(refused(acquire("a"), Refusal::no_tokens));
  now += 1us;
  EXPECT_TRUE(recycles());
  EXPECT_TRUE(refused(acquire("a"), Refusal::no_tokens));
}

TEST_P(LedgerBucket, NeverHoldsMoreThanTheBurst) {
  EXPECT_TRUE(recycles());
  now += 100h;
  EXPECT_TRUE(recycles());
  EXPECT_TRUE(recycles());
  EXPECT_TRUE(refused(acquire("a"), Refusal::no_tokens));
}

TEST_P(LedgerBucket, ARatePerWorkerCountsTheWholeFleetsWantedWorkers) {
  policy.rate_per = RatePer::worker;
  policy.tokens_per_hour = 1;
  heartbeat("b", 8, 8);
  EXPECT_TRUE(recycles("a"));  // "a" has 4: 12 an hour
  EXPECT_TRUE(recycles("a"));
  EXPECT_EQ(hint(acquire("a")), Duration(5min));
  heartbeat("b", 0, 0);  // asleep: 4 an hour
  EXPECT_EQ(hint(acquire("a")), Duration(15min));
}

TEST_P(LedgerBucket, WithNobodyWantedTheHintIsTheLongestOne) {
  policy.rate_per = RatePer::worker;
  for (int i = 0; i < 2; ++i) ask(Release{"a", token(ask(Acquire{{++operations}, "a", {}, now + 1s, {"a", 0, 0}, 0}))});
  EXPECT_EQ(hint(ask(Acquire{{++operations}, "a", {}, now + 1s, {"a", 0, 0}, 0})), longest_hint);
}

TEST_P(LedgerBucket, UrgentOnesOverdrawToMinusBurstAndNoFurther) {
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(recycles("a", Urgency::hard_limit)) << i;
  EXPECT_TRUE(refused(acquire("a", Urgency::hard_limit), Refusal::no_tokens));
  EXPECT_EQ(hint(acquire("a", Urgency::pressure)), Duration(20min));
  EXPECT_EQ(hint(acquire("a")), Duration(1h));  // -2 to 1, at 3 an hour
}

TEST_P(LedgerBucket, WhatWentUngatedIsPaidBackBeforeTheNextRoutineOne) {
  ask(Debit{5});  // 2 - 5
  now += 80min - 1us;
  EXPECT_TRUE(refused(acquire("a"), Refusal::no_tokens));
  now += 1us;
  EXPECT_TRUE(recycles());
}

TEST_P(LedgerBucket, DebtIsBounded) {
  for (int i = 0; i < 1000; ++i) ask(Debit{1});
  now += 24h + 59min;  // the deepest is -(2 + 24 x 3), and one more is needed
  EXPECT_TRUE(refused(acquire("a"), Refusal::no_tokens));
  now += 1min + 1us;
  EXPECT_TRUE(recycles());
}

TEST_P(LedgerBucket, AClockThatWasSetBackGivesNothing) {
  EXPECT_TRUE(recycles());
  EXPECT_TRUE(recycles());
  now -= 1h;
  EXPECT_TRUE(refused(acquire("a"), Refusal::no_tokens));
  now += 20min;
  EXPECT_TRUE(recycles());
}

TEST_P(LedgerBucket, WithoutARateThereIsNoBucket) {
  policy.rate_per = RatePer::unlimited;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(recycles());
  ask(Debit{100});
  EXPECT_TRUE(recycles());
}
}  // namespace
}  // namespace moult
