// Which settings all are judged by, where instances disagree, and what a look shows of it.
#include "tests/contract/ledger_contract.h"

namespace moult {
namespace {
using namespace std::chrono_literals;

class LedgerSettings : public LedgerContract {
 protected:
  static FleetSettings settings(const std::string& of, unsigned permits, StoreTime since) {
    FleetSettings offered{{1, 120s, 3600, RatePer::fleet, 100, 0}, of, since};
    offered.policy.permits = permits;
    return offered;
  }
  LedgerAnswer ask_as(const FleetSettings& offered, const LedgerRequest& request) {
    return subject->ask(request, offered, now);
  }
  LedgerAnswer heartbeat_of(const FleetSettings& offered) { return ask_as(offered, Heartbeat{offered.of, 4, 4}); }
  FleetSettings ruling() { return std::get<FleetView>(ask_as(settings("onlooker", 9, now), Look{})).ruling; }

  FleetSettings older = settings("a", 1, now - 2h), newer = settings("b", 2, now - 1h);
};
INSTANTIATE_TEST_SUITE_P(Ledger, LedgerSettings, testing::ValuesIn(ledger_forms()), ledger_form_name);

TEST_P(LedgerSettings, TheNewestMastersRuleWhoeverAsks) {
  heartbeat_of(newer);
  heartbeat_of(older);
  EXPECT_EQ(ruling(), newer);
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(granted(ask_as(older, Acquire{{++operations}, "a", {}, now + 1s, {"a", 4, 4}, 1}))) << i;
  EXPECT_TRUE(refused(ask_as(older, Acquire{{++operations}, "a", {}, now + 1s, {"a", 4, 4}, 1}), Refusal::lease_held));
}

TEST_P(LedgerSettings, ANewerMasterTakesOverAtItsFirstWord) {
  heartbeat_of(older);
  EXPECT_EQ(ruling(), older);
  ask_as(newer, Renew{"b", 1});
  EXPECT_EQ(ruling(), newer);
}

TEST_P(LedgerSettings, OfTheSameAgeTheLastOneRules) {
  const FleetSettings twin = settings("c", 3, newer.since);
  heartbeat_of(newer);
  heartbeat_of(twin);
  EXPECT_EQ(ruling(), twin);
  newer.since -= 1us;
  heartbeat_of(newer);
  EXPECT_EQ(ruling(), twin);
}

TEST_P(LedgerSettings, ARestartedMasterBringsItsOwn) {
  heartbeat_of(newer);
  const FleetSettings restarted = settings("a", 5, now);
  heartbeat_of(restarted);
  EXPECT_EQ(ruling(), restarted);
}

TEST_P(LedgerSettings, ThoseOfAnInstanceThatIsForgottenRuleNoMore) {
  heartbeat_of(newer);
  now += 10min + 15s - 1us;
  heartbeat_of(older);
  EXPECT_EQ(ruling(), newer);
  now += 1us;
  heartbeat_of(older);
  EXPECT_EQ(ruling(), older);
}

TEST_P(LedgerSettings, AStartInTheFutureIsTakenAsOneOfNow) {
  const FleetSettings ahead = settings("b", 2, now + 1h);
  heartbeat_of(ahead);
  EXPECT_EQ(ruling().since, now);
  now += 1us;
  heartbeat_of(settings("a", 1, now));
  EXPECT_EQ(ruling().of, "a");
}

TEST_P(LedgerSettings, AClockThatWasSetBackHoldsNoNewMasterOff) {
  heartbeat_of(newer);
  now -= 3h;
  heartbeat_of(settings("b", 2, newer.since - 3h));  // learnt the clock anew, and so its own start
  const FleetSettings youngest = settings("c", 3, now);
  heartbeat_of(youngest);
  EXPECT_EQ(ruling(), youngest);
}

TEST_P(LedgerSettings, AShorterTimeToLiveCutsTheLeasesThatAreOut) {
  token(ask_as(older, Acquire{{++operations}, "a", {}, now + 1s, {"a", 4, 4}, 1}));
  newer.policy.ttl = 10s;
  heartbeat_of(newer);
  ASSERT_EQ(look().permits.size(), 1u);
  EXPECT_EQ(look().permits[0].expires_at, now + 10s);
}

TEST_P(LedgerSettings, AnotherRateHoldsFromThenOnAndNotBackwards) {
  older.policy.tokens_per_hour = 1;
  newer.policy.tokens_per_hour = 60;
  heartbeat_of(older);
  ask_as(older, Debit{100});  // the bucket is empty
  now += 1h;
  EXPECT_DOUBLE_EQ(look().tokens, 1);
  heartbeat_of(newer);
  EXPECT_DOUBLE_EQ(look().tokens, 1);
  EXPECT_DOUBLE_EQ(look().tokens_per_hour, 60);
  now += 1min;
  EXPECT_DOUBLE_EQ(look().tokens, 2);
}

TEST_P(LedgerSettings, EachInstanceKeepsWhatItRunsWithSoThatItCanBeNamed) {
  heartbeat_of(newer);
  older.policy.ttl = 1500ms;
  older.policy.tokens_per_hour = 1.0 / 3;
  heartbeat_of(older);
  const FleetView seen = look();
  ASSERT_EQ(seen.members.size(), 2u);
  EXPECT_EQ(seen.members[0].policy, older.policy);
  EXPECT_EQ(seen.members[0].started, older.since);
  EXPECT_EQ(settings_that_differ(seen.members[0].policy, seen.ruling.policy),
            "--lease-permits 1 (the fleet: 2), --lease-ttl 1.5s (the fleet: 120s), "
            "--recycle-rate 0.333333/h (the fleet: 3600/h)");
  EXPECT_EQ(settings_that_differ(seen.members[1].policy, seen.ruling.policy), "");
}
}  // namespace
}  // namespace moult
