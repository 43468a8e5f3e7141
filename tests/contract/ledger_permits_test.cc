// Permits: how many, for how long, whose, and what becomes of them when an answer, a holder or the ledger is lost.
#include "tests/contract/ledger_contract.h"

namespace moult {
namespace {
using namespace std::chrono_literals;
using LedgerPermits = LedgerContract;
INSTANTIATE_TEST_SUITE_P(Ledger, LedgerPermits, testing::ValuesIn(ledger_forms()), ledger_form_name);

TEST_P(LedgerPermits, GrantsAsManyAsThereAreAndThenRefuses) {
  policy.permits = 2;
  EXPECT_TRUE(granted(acquire("a")));
  EXPECT_TRUE(granted(acquire("b")));
  EXPECT_TRUE(refused(acquire("c"), Refusal::lease_held));
}

TEST_P(LedgerPermits, AReleasedOneIsFreeAtOnce) {
  const std::uint64_t held = token(acquire("a"));
  ask(Release{"a", held});
  EXPECT_TRUE(granted(acquire("b")));
}

TEST_P(LedgerPermits, OneThatNobodyRenewsEndsAtItsTimeToLiveAndNotBefore) {
  token(acquire("a"));
  now += 120s - 1us;
  EXPECT_TRUE(refused(acquire("b"), Refusal::lease_held));
  now += 1us;
  EXPECT_TRUE(granted(acquire("b")));
}

TEST_P(LedgerPermits, RenewingProlongsByOneTimeToLive) {
  const std::uint64_t held = token(acquire("a"));
  now += 100s;
  EXPECT_TRUE(std::holds_alternative<Done>(ask(Renew{"a", held})));
  now += 120s - 1us;
  EXPECT_TRUE(refused(acquire("b"), Refusal::lease_held));
  now += 1us;
  EXPECT_TRUE(granted(acquire("b")));
}

TEST_P(LedgerPermits, AHolderThatFrozePastItsTimeToLiveCanNeitherRenewNorReleaseAnothers) {
  const std::uint64_t frozen = token(acquire("a"));
  now += 120s;
  const std::uint64_t next = token(acquire("b"));
  EXPECT_GT(next, frozen);
  EXPECT_TRUE(refused(ask(Renew{"a", frozen}), Refusal::late));
  EXPECT_TRUE(refused(ask(Renew{"a", next}), Refusal::late));
  ask(Release{"a", frozen});
  ask(Release{"a", next});    // the right token from the wrong holder
  ask(Release{"b", frozen});  // the right holder with the wrong token
  EXPECT_TRUE(refused(acquire("c"), Refusal::lease_held));
  EXPECT_TRUE(std::holds_alternative<Done>(ask(Renew{"b", next})));
}

TEST_P(LedgerPermits, ALeaseThatEndedIsNotRenewedThoughNobodyElseTookIt) {
  const std::uint64_t held = token(acquire("a"));
  now += 120s;
  EXPECT_TRUE(refused(ask(Renew{"a", held}), Refusal::late));
}

TEST_P(LedgerPermits, FencingTokensRiseAndAreAtLeastTheTime) {
  const std::uint64_t first = token(acquire("a"));
  EXPECT_EQ(first, static_cast<std::uint64_t>(now.time_since_epoch().count()));
  ask(Release{"a", first});
  const std::uint64_t second = token(acquire("a"));  // in the same microsecond
  EXPECT_EQ(second, first + 1);
  ask(Release{"a", second});
  now -= 1h;  // the clock was set back
  EXPECT_EQ(token(acquire("a")), second + 1);
}

TEST_P(LedgerPermits, TheSameOperationAskedTwiceIsOneLeaseAndOneToken) {
  policy.burst = 2;
  policy.tokens_per_hour = 0.001;
  const LedgerAnswer first = acquire("a", Urgency::routine, AskId{7});
  const LedgerAnswer again = acquire("a", Urgency::routine, AskId{7});
  EXPECT_EQ(token(first), token(again));
  ask(Release{"a", token(first)});
  EXPECT_TRUE(granted(acquire("a")));  // the second of two tokens is still there
}

TEST_P(LedgerPermits, TheSameOperationOfAnotherHolderIsAnotherQuestion) {
  EXPECT_TRUE(granted(acquire("a", Urgency::routine, AskId{7})));
  EXPECT_TRUE(refused(acquire("b", Urgency::routine, AskId{7}), Refusal::lease_held));
}

TEST_P(LedgerPermits, AQuestionThatArrivesAtItsEndOrLaterTakesNothing) {
  budget = 0us;
  EXPECT_TRUE(refused(acquire("a"), Refusal::late));
  budget = 1us;
  EXPECT_TRUE(granted(acquire("a")));
}

TEST_P(LedgerPermits, ARepeatedQuestionIsToldOfItsLeaseEvenPastItsEnd) {
  const std::uint64_t held = token(acquire("a", Urgency::routine, AskId{7}));
  budget = -1us;
  EXPECT_EQ(token(acquire("a", Urgency::routine, AskId{7})), held);
}

TEST_P(LedgerPermits, WithdrawingGivesPermitAndTokenBackOnce) {
  policy.burst = 1;
  policy.tokens_per_hour = 0.001;
  token(acquire("a", Urgency::routine, AskId{7}));
  ask(Withdraw{"b", AskId{7}});  // not his
  EXPECT_TRUE(refused(acquire("c"), Refusal::lease_held));
  ask(Withdraw{"a", AskId{7}});
  ask(Withdraw{"a", AskId{7}});
  token(acquire("c", Urgency::routine, AskId{8}));
  ask(Release{"c", token(acquire("c", Urgency::routine, AskId{8}))});
  EXPECT_TRUE(refused(acquire("c"), Refusal::no_tokens));
}

TEST_P(LedgerPermits, WithdrawingWhatWasNeverGrantedChangesNothing) {
  policy.burst = 1;
  policy.tokens_per_hour = 0.001;
  ask(Withdraw{"a", AskId{7}});
  ask(Release{"a", token(acquire("a"))});
  EXPECT_TRUE(refused(acquire("a"), Refusal::no_tokens));
}

TEST_P(LedgerPermits, AnUrgentQuestionWaitsForNoSiblingsLeaseButForAnothers) {
  EXPECT_TRUE(granted(acquire("a")));
  EXPECT_TRUE(refused(acquire("a"), Refusal::lease_held));  // a routine one waits also for its sibling
  EXPECT_TRUE(refused(acquire("b", Urgency::hard_limit), Refusal::lease_held));
  EXPECT_TRUE(granted(acquire("a", Urgency::hard_limit)));
}

TEST_P(LedgerPermits, TheHintIsNeverLongerThanTheLeaseThatIsInTheWay) {
  token(acquire("a"));
  EXPECT_EQ(hint(acquire("b")), ask_again_routine);
  EXPECT_EQ(hint(acquire("b", Urgency::pressure)), ask_again_urgent);
  now += 119s;
  EXPECT_EQ(hint(acquire("b")), Duration(1s));
}

TEST_P(LedgerPermits, AClockThatWasSetBackNeverProlongsALeaseBeyondOneTimeToLive) {
  token(acquire("a"));
  now -= 1h;
  EXPECT_TRUE(refused(acquire("b"), Refusal::lease_held));
  now += 120s;
  EXPECT_TRUE(granted(acquire("b")));
}

TEST_P(LedgerPermits, AHolderPutsItsLeaseBackIntoALedgerThatForgot) {
  const std::uint64_t held = token(acquire("a"));
  subject->forget_everything();
  EXPECT_TRUE(std::holds_alternative<Done>(ask(Renew{"a", held})));
  EXPECT_TRUE(refused(acquire("b"), Refusal::lease_held));
  ask(Release{"a", held});
  EXPECT_GT(token(acquire("b")), held);
}

TEST_P(LedgerPermits, ALeaseThatWasPutBackShowsItsOwnerAndSinceWhenItIsHeld) {
  const Permit before = (token(acquire("a")), look().permits.at(0));
  subject->forget_everything();
  now += 5s;
  ask(Renew{before.holder, before.token, before.instance});
  const Permit after = look().permits.at(0);
  EXPECT_EQ(after.instance, "a");
  EXPECT_EQ(after.granted_at, before.granted_at);
  EXPECT_EQ(after.expires_at, now + 120s);
}

TEST_P(LedgerPermits, ALeaseThatIsPutBackFromAClockAheadIsHeldSinceNow) {
  const std::uint64_t held = token(acquire("a"));
  subject->forget_everything();
  now -= 1h;
  ask(Renew{"a", held, "a"});
  EXPECT_EQ(look().permits.at(0).granted_at, now);
}

TEST_P(LedgerPermits, ALedgerThatForgotTakesBackNoMoreThanItsPermits) {
  const std::uint64_t held = token(acquire("a"));
  subject->forget_everything();
  now -= 1h;  // so that the token of "a" is newer than the one of "b"
  token(acquire("b"));
  EXPECT_TRUE(refused(ask(Renew{"a", held}), Refusal::late));
}

TEST_P(LedgerPermits, WhoComesTooLateToALedgerThatForgotIsTold) {
  const std::uint64_t held = token(acquire("a"));
  now += 1s;
  subject->forget_everything();
  token(acquire("b"));
  EXPECT_TRUE(refused(ask(Renew{"a", held}), Refusal::late));
}
}  // namespace
}  // namespace moult
