// A RedisGate and a store that comes and goes: what is told, what is withdrawn, what is paid.
#include "lease/redis_gate.h"

#include <gmock/gmock.h>

#include "tests/store/gate_on_redis.h"

namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::HasSubstr;
using RedisGateOnALoop = GatesOnRedis;

TEST_F(RedisGateOnALoop, TwoInstancesShareOneLedger) {
  const auto a = gate("a"), b = gate("b");
  auto held = asked(*a);
  ASSERT_TRUE(held->granted());
  EXPECT_TRUE(held->granted()->gated);
  EXPECT_TRUE(a->describe().lease_held);
  EXPECT_EQ(asked(*b)->refused(), Refusal::lease_held);
  EXPECT_FALSE(b->describe().lease_held);
  held.reset();
  EXPECT_TRUE(comes_true([&] { return stored().permits.empty(); }));
  const auto next = asked(*b);
  ASSERT_TRUE(next->granted());
  EXPECT_NEAR(b->describe().tokens, 0, 0.01);
}

// The ledger's own hint is the same each time.
TEST_F(RedisGateOnALoop, RoutineOnesThatAreRefusedComeBackAtDifferentTimesAndUrgentOnesWhenTheLedgerSays) {
  const auto a = gate("a"), b = gate("b");
  const auto hint = [&](Urgency urgency) {
    const auto question = asked(*b, urgency);
    EXPECT_EQ(question->refused(), Refusal::lease_held);
    return question->refused() ? std::get<Refused>(*question->answer).retry_after : Duration{};
  };
  const auto held = asked(*a);
  ASSERT_TRUE(held->granted());
  Duration least = 1h, most{};
  for (int i = 0; i < 20; ++i) {
    const Duration said = hint(Urgency::routine);
    least = std::min(least, said), most = std::max(most, said);
    EXPECT_EQ(hint(Urgency::hard_limit), ask_again_urgent);
  }
  EXPECT_GE(least, 1s);
  EXPECT_LE(most, ask_again_routine);
  EXPECT_GT(most - least, 500ms);
}

TEST_F(RedisGateOnALoop, TellsItsHealthInTheFirstTurnAndAtOnceWhenItSleepsOrWakes) {
  const auto a = gate("a");
  capacity = {3, 2};
  const auto member = [this] {
    const Ledger ledger = stored();
    return ledger.instances.empty()
               ? std::string("none")
               : std::to_string(ledger.instances[0].healthy) + "/" + std::to_string(ledger.instances[0].wanted);
  };
  EXPECT_TRUE(comes_true([&] { return member() == "2/3"; }));
  const MonotonicTime first = loop.now();
  capacity = {0, 2};
  a->capacity_changed();
  EXPECT_TRUE(comes_true([&] { return member() == "2/0"; }));
  capacity = {3, 0};
  a->capacity_changed();
  EXPECT_TRUE(comes_true([&] { return member() == "0/3"; }));
  EXPECT_LT(loop.now() - first, heartbeat_every - 1s) << "that was the next heartbeat";
}

TEST_F(RedisGateOnALoop, TellsItsHealthEveryFiveSeconds) {
  const auto a = gate("a");
  ASSERT_TRUE(comes_true([&] { return stored().instances.size() == 1; }));
  const StoreTime first = stored().instances[0].heard_at;
  ASSERT_TRUE(comes_true([&] { return stored().instances[0].heard_at > first; }));
  EXPECT_GE(stored().instances[0].heard_at - first, 4900ms);
}

TEST_F(RedisGateOnALoop, GivesTheScriptToAStoreThatForgotIt) {
  const auto a = gate("a");
  ASSERT_TRUE(asked(*a)->granted());
  redis({"SCRIPT", "FLUSH"});
  EXPECT_TRUE(asked(*a)->granted());
}

TEST_F(RedisGateOnALoop, AStoreThatStandsStillIsUnreachableByTheBudgetsEndAndKeepsNothing) {
  const auto a = gate("a");
  ASSERT_TRUE(comes_true([&] { return stored().instances.size() == 1; }));
  server.signal(SIGSTOP);
  const auto question = asked(*a, Urgency::routine, 300ms);
  EXPECT_EQ(question->refused(), Refusal::store_unreachable);
  EXPECT_GE(question->took(), 300ms);
  EXPECT_STREQ(a->describe().state, "unreachable");
  EXPECT_THAT(a->describe().trouble, HasSubstr("no answer"));
  server.signal(SIGCONT);
  EXPECT_TRUE(comes_true([&] { return std::string(a->describe().state) == "ok"; }));
  EXPECT_TRUE(stored().permits.empty());
  EXPECT_DOUBLE_EQ(look(*a)->tokens, 2);
}

TEST_F(RedisGateOnALoop, AQuestionThatIsGivenUpWhileTheStoreStandsStillLeavesNothing) {
  const auto a = gate("a");
  ASSERT_TRUE(comes_true([&] { return stored().instances.size() == 1; }));
  server.signal(SIGSTOP);
  auto question = ask(*a);
  loop.run_for(10ms);
  question.reset();
  server.signal(SIGCONT);
  EXPECT_DOUBLE_EQ(look(*a)->tokens, 2);  // asked after the withdrawal
  EXPECT_TRUE(look(*a)->permits.empty());
}

// The store read the withdrawal first, and then what an older connection had left with it.
TEST_F(RedisGateOnALoop, AQuestionThatRunsAfterItsWithdrawalIsWithdrawnOnceMoreAfterItsEnd) {
  const auto a = gate("a");
  auto held = asked(*a);
  ASSERT_TRUE(held->granted());
  const Permit first = stored().permits.at(0);
  held.reset();
  auto question = ask(*a, Urgency::routine, 1s);
  question.reset();
  ASSERT_TRUE(look(*a));  // the withdrawal has run
  const Acquire left{{first.operation.value + 1}, first.holder, {}, StoreTime::max(), {"a", 4, 4}, 1};
  redis(ledger_call("EVALSHA", ledger_script().sha1, "shop", left, {policy, "a"}));
  ASSERT_EQ(stored().permits.size(), 1u);
  EXPECT_TRUE(comes_true([&] { return stored().permits.empty(); }));
}

TEST_F(RedisGateOnALoop, ALeaseIsBackInAStoreThatWasRestartedWithoutItsMemory) {
  const auto a = gate("a"), b = gate("b");
  const auto held = asked(*a);
  ASSERT_TRUE(held->granted());
  server.stop();
  server.start();
  EXPECT_TRUE(comes_true([&] { return stored().permits.size() == 1; }));
  EXPECT_EQ(stored().permits.at(0).token, held->granted()->fencing_token);
  EXPECT_EQ(asked(*b)->refused(), Refusal::lease_held);
}

// Nothing tells the holder: its connection stays up.
TEST_F(RedisGateOnALoop, ALeaseIsBackWithTheNextHeartbeatInAStoreThatWasEmptied) {
  const auto a = gate("a"), b = gate("b");
  const auto held = asked(*a);
  ASSERT_TRUE(held->granted());
  redis({"FLUSHALL"});
  const MonotonicTime emptied = loop.now();
  ASSERT_TRUE(comes_true([&] { return stored().permits.size() == 1; }));
  EXPECT_LT(loop.now() - emptied, 2 * heartbeat_every);
  EXPECT_EQ(stored().permits.at(0).instance, "a");
  EXPECT_EQ(stored().permits.at(0).token, held->granted()->fencing_token);
  EXPECT_EQ(asked(*b)->refused(), Refusal::lease_held);
  EXPECT_EQ(a->describe().leases_lost, 0u);
}

TEST_F(RedisGateOnALoop, AHolderThatLostItsLeaseNeitherRenewsNorReleasesAnothers) {
  policy.ttl = 1s;
  int told = 0;
  RedisGateOptions of_a = options("a");
  of_a.lease_lost = [&told] { ++told; };
  const auto a = std::make_unique<RedisGate>(loop.get(), of_a, [this] { return capacity; });
  const auto b = gate("b");
  auto frozen = asked(*a);
  ASSERT_TRUE(frozen->granted());
  redis({"DEL", ledger_keys("shop")[1]});  // as if it had ended
  const auto next = asked(*b);
  ASSERT_TRUE(next->granted());
  EXPECT_GT(next->granted()->fencing_token, frozen->granted()->fencing_token);
  EXPECT_TRUE(comes_true([&] { return a->describe().leases_lost == 1; }));
  EXPECT_EQ(told, 1);
  EXPECT_FALSE(a->describe().lease_held);
  frozen.reset();
  EXPECT_EQ(asked(*a)->refused(), Refusal::lease_held);
  EXPECT_TRUE(b->describe().lease_held);
}

TEST_F(RedisGateOnALoop, RenewsByTheSettingsThatRule) {
  const auto a = gate("a");
  ASSERT_TRUE(comes_true([&] { return stored().instances.size() == 1; }));
  loop.run_for(2ms);
  policy.ttl = 1s;  // of a newer master
  const auto b = gate("b");
  ASSERT_TRUE(comes_true([&] { return stored().ruling.of == "b"; }));
  const auto held = asked(*a);
  ASSERT_TRUE(held->granted());
  const StoreTime first = stored().permits.at(0).expires_at;
  EXPECT_TRUE(comes_true([&] { return stored().permits.at(0).expires_at > first; }));
  EXPECT_EQ(a->describe().leases_lost, 0u);
}

TEST_F(RedisGateOnALoop, WhatWentUngatedIsDebitedOnceWhenTheStoreIsBack) {
  const auto a = gate("a");
  ASSERT_TRUE(comes_true([&] { return stored().instances.size() == 1; }));
  server.stop();
  for (int i = 0; i < 3; ++i) a->debit(1);
  loop.run_for(300ms);
  EXPECT_EQ(a->describe().owed, 3u);
  server.start();
  EXPECT_TRUE(comes_true([&] { return a->describe().owed == 0; }));
  EXPECT_NEAR(look(*a)->tokens, -1, 0.01);
}

TEST_F(RedisGateOnALoop, ADebitThatStandsInAFrozenStoreIsOneDebit) {
  const auto a = gate("a");
  ASSERT_TRUE(comes_true([&] { return stored().instances.size() == 1; }));
  server.signal(SIGSTOP);
  a->debit(1);
  ASSERT_TRUE(comes_true([&] { return a->describe().trouble != ""; }));  // it was given up, and is asked again
  server.signal(SIGCONT);
  EXPECT_TRUE(comes_true([&] { return a->describe().owed == 0; }));
  EXPECT_NEAR(look(*a)->tokens, 1, 0.01);
}

TEST_F(RedisGateOnALoop, LooksAtTheWholeFleet) {
  const auto a = gate("a");
  policy.permits = 2;
  loop.run_for(2ms);
  const auto b = gate("b");
  ASSERT_TRUE(comes_true([&] { return stored().instances.size() == 2; }));
  const auto held = asked(*a);
  const Result<FleetView> seen = look(*b);
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(seen->ruling.of, "b");
  EXPECT_EQ(seen->permits.size(), 1u);
  ASSERT_EQ(seen->members.size(), 2u);
  EXPECT_THAT(settings_that_differ(seen->members[0].policy, seen->ruling.policy), HasSubstr("--lease-permits 1"));
}

TEST_F(RedisGateOnALoop, ALookAtAStoreThatIsAwaySaysWhatIsWrong) {
  server.stop();
  const auto a = gate("a");
  std::optional<Result<FleetView>> seen;
  const auto call = a->look(loop.budget(100ms), [&](Result<FleetView> view) { seen.emplace(std::move(view)); });
  ASSERT_TRUE(comes_true([&] { return seen.has_value(); }));
  ASSERT_FALSE(*seen);
  EXPECT_THAT(seen->error().message, HasSubstr(server.socket()));
}

TEST_F(RedisGateOnALoop, KeysThatAreSomebodyElsesAreTrouble) {
  redis({"SET", ledger_keys("shop")[0], "something else"});
  const auto a = gate("a");
  EXPECT_EQ(asked(*a)->refused(), Refusal::store_unreachable);
  EXPECT_THAT(a->describe().trouble, HasSubstr("WRONGTYPE"));
  EXPECT_STREQ(a->describe().state, "unreachable");
}

TEST_F(RedisGateOnALoop, AQuestionThatOutlivesItsGateIsNeverAnswered) {
  auto a = gate("a");
  const auto held = asked(*a);
  const auto waiting = ask(*a);
  a.reset();
  loop.run_for(50ms);
  EXPECT_FALSE(waiting->answer);
}
}  // namespace
}  // namespace moult
