// What a look shows, and that it changes nothing; debits and heartbeats whose answer was lost.
#include "tests/contract/ledger_contract.h"

namespace moult {
namespace {
using namespace std::chrono_literals;
using LedgerLook = LedgerContract;
INSTANTIATE_TEST_SUITE_P(Ledger, LedgerLook, testing::ValuesIn(ledger_forms()), ledger_form_name);

TEST_P(LedgerLook, ShowsAFullBucketAndNobodyInANewLedger) {
  policy.burst = 3;
  const FleetView seen = look();
  EXPECT_EQ(seen.now, now);
  EXPECT_EQ(seen.ruling.policy, policy);
  EXPECT_DOUBLE_EQ(seen.tokens, 3);
  EXPECT_DOUBLE_EQ(seen.tokens_per_hour, 3600);
  EXPECT_TRUE(seen.permits.empty() && seen.members.empty());
}

TEST_P(LedgerLook, ShowsWhoHoldsALeaseSinceAndUntilWhen) {
  policy.permits = 2;
  const std::string holder("b \0 8d1f\n", 9);  // names are bytes
  const std::uint64_t second = token(ask(Acquire{{9}, holder, Urgency::pressure, now + 1s, {"b", 4, 4}, 1}));
  now += 5s;
  const std::uint64_t third = token(acquire("a", Urgency::routine, AskId{~0ull}));
  const FleetView seen = look();
  ASSERT_EQ(seen.permits.size(), 2u);
  EXPECT_EQ(seen.permits[0], (Permit{holder, AskId{9}, second, "b", 1, now - 5s, now + 115s}));
  EXPECT_EQ(seen.permits[1], (Permit{"a", AskId{~0ull}, third, "a", 1, now, now + 120s}));
}

TEST_P(LedgerLook, ShowsEveryInstanceAndTheFleetsHealth) {
  heartbeat("c", 3, 1);
  now += 5s;
  heartbeat("a", 4, 6);
  heartbeat("b", 0, 0);
  FleetView seen = look();
  ASSERT_EQ(seen.members.size(), 3u);
  EXPECT_EQ(seen.members[0], (FleetMember{"a", 4, 6, now, policy}));
  EXPECT_EQ(seen.members[2], (FleetMember{"c", 3, 1, now - 5s, policy}));
  EXPECT_EQ(seen.health, (FleetHealth{7, 5}));
  token(ask(Acquire{{1}, "a", Urgency::routine, now + 1s, {"a", 4, 4}, 1}));
  EXPECT_EQ(look().health, (FleetHealth{7, 4}));  // one is away
  now += 10s;
  EXPECT_EQ(look().health, (FleetHealth{7, 3}));  // "c" vanished
}

TEST_P(LedgerLook, ShowsTheLastRefusalOfEachInstance) {
  token(acquire("a"));
  EXPECT_TRUE(refused(acquire("b"), Refusal::lease_held));
  now += 1s;
  policy.minimum_healthy_percent = 100;
  EXPECT_TRUE(refused(acquire("b"), Refusal::below_minimum));
  const StoreTime then = now;
  now += 1s;
  heartbeat("b", 4, 4);
  budget = 0us;
  EXPECT_TRUE(refused(acquire("b"), Refusal::late));  // changes nothing, so it is not kept
  const FleetView seen = look();
  ASSERT_EQ(seen.members.size(), 2u);
  EXPECT_FALSE(seen.members[0].last_refusal);
  EXPECT_EQ(seen.members[1].last_refusal, (PastRefusal{Refusal::below_minimum, then}));
}

TEST_P(LedgerLook, ShowsNeitherEndedLeasesNorForgottenInstances) {
  token(acquire("a"));
  now += 10min + 15s;
  heartbeat("b", 1, 1);
  const FleetView seen = look();
  EXPECT_TRUE(seen.permits.empty());
  ASSERT_EQ(seen.members.size(), 1u);
  EXPECT_EQ(seen.members[0].name, "b");
}

TEST_P(LedgerLook, ChangesNothing) {
  policy.burst = 1;
  policy.tokens_per_hour = 1;
  heartbeat("b", 8, 8);
  token(acquire("a"));
  const StoreTime then = now;
  now += 100h;  // a look from a far future may not forget, expire or refill anything
  EXPECT_TRUE(look().members.empty());
  now = then;
  const FleetView seen = look();
  EXPECT_EQ(seen.members.size(), 2u);
  EXPECT_EQ(seen.permits.size(), 1u);
  EXPECT_DOUBLE_EQ(seen.tokens, 0);
}

TEST_P(LedgerLook, ADebitAskedTwiceIsOneDebit) {
  heartbeat("a", 4, 4);
  for (int i = 0; i < 2; ++i) ask(Debit{3, "a", AskId{7}});
  EXPECT_DOUBLE_EQ(look().tokens, 97);
  heartbeat("a", 4, 4);
  token(acquire("a"));
  ask(Debit{3, "a", AskId{7}});
  EXPECT_DOUBLE_EQ(look().tokens, 96);
  ask(Debit{3, "a", AskId{8}});
  EXPECT_DOUBLE_EQ(look().tokens, 93);
}

TEST_P(LedgerLook, ADebitOrAHeartbeatThatWasGivenUpChangesNothing) {
  heartbeat("a", 4, 4);
  EXPECT_TRUE(refused(ask(Debit{3, "a", AskId{7}, now}), Refusal::late));
  EXPECT_TRUE(refused(ask(Heartbeat{"a", 4, 1, now}), Refusal::late));
  EXPECT_DOUBLE_EQ(look().tokens, 100);
  EXPECT_EQ(look().health.healthy, 4u);
  ask(Debit{3, "a", AskId{7}, now + 1us});
  ask(Heartbeat{"a", 4, 1, now + 1us});
  EXPECT_DOUBLE_EQ(look().tokens, 97);
  EXPECT_EQ(look().health.healthy, 1u);
}
}  // namespace
}  // namespace moult
