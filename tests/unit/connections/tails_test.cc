// What is on its way over others' connections, in virtual time: "delivered" is said only after a look that found none.
#include "master/connections/tails.h"

#include <netinet/tcp.h>

#include "tests/unit/connections/core_test.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

std::string text(const TailAction& action) {
  return std::visit(Match{[](const LookAtTails&) { return std::string("look"); },
                          [](const AbortTail& a) { return "abort " + std::to_string(a.id.value); }},
                    action);
}

TailReading sending(std::uint64_t id, std::uint64_t unacknowledged = 1000) {
  return {{id}, {unacknowledged, 0, TCP_ESTABLISHED}};
}
TailReading orphan(std::uint64_t id, std::uint64_t unacknowledged = 1000) {
  return {{id}, {unacknowledged, 0, TCP_FIN_WAIT1}};
}
TailReading ended_well(std::uint64_t id) { return {{id}, {0, 1001, TCP_TIME_WAIT}}; }

class TailsTest : public CoreTest<Tails, TailEvent, TailAction, TailPolicy> {
 protected:
  TailsTest() : CoreTest(text, {.linger = {}, .abort = {}, .most = 3}) {}
  std::vector<std::string> begin(bool may_abort = true) { return post(TailWatchBegins{may_abort}); }
  std::vector<std::string> see(const std::vector<TailReading>& readings) { return post(TailsSeen{readings}); }
  std::vector<std::string> answer(std::uint64_t id, AbortAnswer said) { return post(TailAbortAnswered{{id}, said}); }
  // Sees one, and again when it has stalled.
  std::vector<std::string> stall(std::uint64_t id) {
    see({sending(id)});
    now += policy.linger.patience;
    return see({sending(id)});
  }
  TailVerdict said() const { return verdict(tails, policy); }
  const LingerCounts& counts() const { return tails.counts; }
  std::uint64_t outcomes() const {
    return counts().delivered + counts().reset + counts().aborted + counts().fail_closed + counts().undelivered;
  }

  Tails& tails = state;
};

TEST_F(TailsTest, BeforeItsFirstLookAWatchHasNoVerdict) {
  EXPECT_EQ(said(), TailVerdict::underway);
  EXPECT_THAT(begin(), ElementsAre("look"));
  EXPECT_EQ(said(), TailVerdict::underway);
  EXPECT_EQ(next(), never) << "until that look has its answer";
}

TEST_F(TailsTest, ALookThatFindsNoneIsDelivered) {
  begin();
  see({});
  EXPECT_EQ(said(), TailVerdict::delivered);
  EXPECT_EQ(counts().begun, 0u);
}

TEST_F(TailsTest, ALookThatFailsIsNot) {
  begin();
  post(TailsUnseen{});
  EXPECT_EQ(said(), TailVerdict::underway);
  see({});
  EXPECT_EQ(said(), TailVerdict::delivered);
  post(TailsUnseen{});
  EXPECT_EQ(said(), TailVerdict::underway) << "the last look counts";
}

TEST_F(TailsTest, LooksThatFailOnAndOnFailClosed) {
  begin();
  for (unsigned i = 1; i < policy.most_failed_looks; ++i) post(TailsUnseen{});
  EXPECT_EQ(said(), TailVerdict::underway);
  post(TailsUnseen{});
  EXPECT_EQ(said(), TailVerdict::fail_closed);
}

TEST_F(TailsTest, OneLookThatSucceedsForgivesThoseThatFailed) {
  begin();
  for (unsigned i = 1; i < policy.most_failed_looks; ++i) post(TailsUnseen{});
  see({sending(1)});
  post(TailsUnseen{});
  EXPECT_EQ(said(), TailVerdict::underway);
}

TEST_F(TailsTest, LooksComeAfterOneMillisecondDoublingToASecond) {
  begin();
  std::vector<std::int64_t> waits;
  for (int i = 0; i < 12; ++i) {
    if (i % 3 == 0) post(TailsUnseen{});
    else see({sending(1)});
    waits.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(next() - now).count());
    EXPECT_THAT(after(next() - now - 1ns), IsEmpty());
    EXPECT_THAT(after(1ns), ElementsAre("look"));
    EXPECT_THAT(after(0ns), IsEmpty()) << "it was asked, and has not answered";
  }
  EXPECT_THAT(waits, ElementsAre(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1000));
}

TEST_F(TailsTest, ALiveWorkersTailIsDeliveredWhenItsBytesAreAcknowledged) {
  begin();
  see({sending(1)});
  EXPECT_EQ(said(), TailVerdict::underway);
  see({sending(1, 0)});
  EXPECT_EQ(said(), TailVerdict::delivered);
  EXPECT_EQ(counts().delivered, 1u);
}

TEST_F(TailsTest, WhatItSendsLaterIsAnotherTail) {
  begin();
  see({sending(1)});
  see({sending(1, 0)});
  see({sending(1)});
  EXPECT_EQ(said(), TailVerdict::underway);
  EXPECT_EQ(counts().begun, 2u);
}

TEST_F(TailsTest, AnOrphanIsDeliveredWhenItIsSeenInTimeWait) {
  begin();
  see({orphan(1), orphan(2, 1)});
  see({ended_well(1), orphan(2, 1)});
  EXPECT_EQ(said(), TailVerdict::underway) << "the other's FIN is not acknowledged";
  see({ended_well(2)});
  EXPECT_EQ(said(), TailVerdict::delivered);
  EXPECT_EQ(counts().delivered, 2u);
}

TEST_F(TailsTest, OneThatVanishesWithBytesOutstandingWasResetAndReleases) {
  begin();
  see({orphan(1)});
  see({});
  EXPECT_EQ(said(), TailVerdict::delivered);
  EXPECT_EQ(counts().reset, 1u);
  EXPECT_EQ(counts().delivered, 0u);
}

TEST_F(TailsTest, OneThatIsShownAsResetReleasesAndIsCountedOnce) {
  const TailReading shown_as_reset{{1}, {1000, 0, TCP_CLOSE}};
  begin();
  stall(1);
  see({shown_as_reset});
  EXPECT_EQ(said(), TailVerdict::delivered);
  answer(1, AbortAnswer::done);
  see({shown_as_reset});
  EXPECT_EQ(counts().reset, 1u);
  EXPECT_EQ(outcomes(), 1u);
}

TEST_F(TailsTest, AReadingWithNothingOutstandingIsNoTail) {
  begin();
  see({ended_well(1), sending(2, 0)});
  EXPECT_EQ(counts().begun, 0u);
  EXPECT_EQ(said(), TailVerdict::delivered);
}

TEST_F(TailsTest, AStalledTailIsAbortedByAWatchThatMay) {
  begin();
  EXPECT_THAT(stall(1), ElementsAre("abort 1"));
  EXPECT_EQ(stalled(tails), 1u);
  EXPECT_EQ(said(), TailVerdict::underway);
  EXPECT_GT(next(), now);
  EXPECT_THAT(after(0ns), IsEmpty()) << "it was asked, and has not answered";
  answer(1, AbortAnswer::done);
  EXPECT_EQ(said(), TailVerdict::delivered);
  EXPECT_EQ(counts().aborted, 1u);
  EXPECT_EQ(stalled(tails), 0u);
}

TEST_F(TailsTest, AStalledTailIsLeftAloneByAWatchThatMayNot) {
  begin(false);
  EXPECT_THAT(stall(1), IsEmpty());
  EXPECT_EQ(stalled(tails), 1u);
  EXPECT_EQ(said(), TailVerdict::underway);
  EXPECT_GT(next(), now);
  EXPECT_THAT(after(1h), ElementsAre("look"));
}

TEST_F(TailsTest, OneThatMovesIsNeverAborted) {
  begin();
  for (std::uint64_t left = 50; left > 0; --left) {
    EXPECT_THAT(see({sending(1, left)}), IsEmpty());
    now += policy.linger.patience - 1ms;
  }
}

TEST_F(TailsTest, OneThatCannotBeAbortedFailsClosed) {
  begin();
  stall(1);
  answer(1, AbortAnswer::refused);
  EXPECT_EQ(said(), TailVerdict::fail_closed);
  EXPECT_EQ(counts().fail_closed, 1u);
  now += 1h;
  EXPECT_THAT(see({sending(1)}), IsEmpty()) << "it is not asked for again";
  EXPECT_GT(next(), now);
  EXPECT_THAT(after(1h), ElementsAre("look"));
  see({sending(1)});
  EXPECT_EQ(said(), TailVerdict::fail_closed);
}

TEST_F(TailsTest, OneThatFailedClosedIsOverWhenItEndsAfterAllAndIsCountedOnce) {
  begin();
  stall(1);
  answer(1, AbortAnswer::refused);
  see({sending(1, 0)});
  EXPECT_EQ(said(), TailVerdict::delivered);
  begin();
  stall(2);
  answer(2, AbortAnswer::refused);
  see({});
  EXPECT_EQ(said(), TailVerdict::delivered);
  EXPECT_EQ(counts().fail_closed, 2u);
  EXPECT_EQ(outcomes(), 2u);
}

TEST_F(TailsTest, AnAbortThatFailsIsTriedAgainWhenThatIsDueAndAtLastFailsClosed) {
  begin();
  stall(1);
  for (unsigned attempt = 1; attempt < policy.abort.most_attempts; ++attempt) {
    answer(1, AbortAnswer::failed);
    ASSERT_EQ(said(), TailVerdict::underway);
    const MonotonicTime due = tails.tails.at({1}).ladder.backoff.retry_at;
    EXPECT_LE(next(), due);
    EXPECT_THAT(see({sending(1)}), IsEmpty()) << "a look is no reason to try earlier";
    now = due;
    EXPECT_THAT(post(TimePassed{}), testing::Contains("abort 1")) << attempt;
    see({sending(1)});
  }
  answer(1, AbortAnswer::failed);
  EXPECT_EQ(said(), TailVerdict::fail_closed);
}

TEST_F(TailsTest, OneThatMovesWhileItsAbortIsRetriedIsSpared) {
  begin();
  stall(1);
  answer(1, AbortAnswer::failed);
  see({sending(1, 999)});
  EXPECT_THAT(after(10s), ElementsAre("look"));
  EXPECT_EQ(stalled(tails), 0u);
}

TEST_F(TailsTest, OneThatWasGoneWhenItWasToBeAbortedCountsAsReset) {
  begin();
  stall(1);
  answer(1, AbortAnswer::gone);
  EXPECT_EQ(counts().reset, 1u);
  EXPECT_EQ(said(), TailVerdict::delivered);
}

// Some kernels before 6.12 leave an orphan that was destroyed in the table for ever, without its bytes.
TEST_F(TailsTest, OneThatWasAbortedAndIsStillShownIsNeitherCountedNorAbortedAgain) {
  begin();
  see({orphan(1)});
  now += policy.linger.patience;
  see({orphan(1)});
  answer(1, AbortAnswer::done);
  for (int i = 0; i < 3; ++i) {
    now += 1h;
    EXPECT_THAT(see({orphan(1)}), IsEmpty());
    EXPECT_GT(next(), now);
    EXPECT_EQ(said(), TailVerdict::delivered);
  }
  EXPECT_EQ(counts().begun, 1u);
  EXPECT_EQ(outcomes(), 1u);
}

TEST_F(TailsTest, FailedLooksAloneMakeATailStall) {
  begin();
  see({sending(1)});
  now += policy.linger.patience;
  EXPECT_THAT(post(TailsUnseen{}), ElementsAre("abort 1"));
}

TEST_F(TailsTest, OneTooManyIsAbortedAtOnceByAWatchThatMay) {
  begin();
  EXPECT_THAT(see({sending(1), sending(2), sending(3), sending(4)}), ElementsAre("abort 4"));
  EXPECT_EQ(tails.unwatched, 1u);
  answer(4, AbortAnswer::done);
  EXPECT_EQ(tails.unwatched, 0u);
  EXPECT_EQ(counts().begun, 4u);
  EXPECT_EQ(counts().aborted, 1u);
}

TEST_F(TailsTest, OneTooManyHoldsTheVerdictBackWhereNothingMayBeAborted) {
  begin(false);
  EXPECT_THAT(see({sending(1), sending(2), sending(3), sending(4)}), IsEmpty());
  EXPECT_EQ(tails.unwatched, 1u);
  see({sending(1, 0), sending(2, 0), sending(3, 0), sending(4)});
  EXPECT_EQ(said(), TailVerdict::underway);
  EXPECT_EQ(tails.unwatched, 0u) << "there is room: it is watched";
  EXPECT_EQ(underway(tails), 1u);
}

TEST_F(TailsTest, TheUnwatchedAloneHoldTheVerdictBack) {
  policy.most = 0;
  begin(false);
  see({sending(1)});
  EXPECT_EQ(said(), TailVerdict::underway);
  see({});
  EXPECT_EQ(said(), TailVerdict::delivered);
}

TEST_F(TailsTest, AfterOneRefusalTheOthersBeyondTheBoundAreSparedButAStalledOneIsStillTried) {
  begin();
  see({sending(1), sending(2), sending(3), sending(4), sending(5)});
  answer(4, AbortAnswer::refused);
  EXPECT_THAT(see({sending(1), sending(2), sending(3), sending(4), sending(5)}), IsEmpty());
  EXPECT_EQ(tails.unwatched, 2u);
  now += policy.linger.patience;
  EXPECT_THAT(see({sending(1), sending(2), sending(3)}), ElementsAre("abort 1", "abort 2", "abort 3"));
  begin();
  EXPECT_THAT(see({sending(6), sending(7), sending(8), sending(9)}), ElementsAre("abort 9")) << "a new watch asks anew";
}

TEST_F(TailsTest, OneTooManyThatCouldNotBeAbortedIsAskedForAtTheNextLook) {
  begin();
  see({sending(1), sending(2), sending(3), sending(4)});
  answer(4, AbortAnswer::failed);
  EXPECT_EQ(tails.unwatched, 1u);
  EXPECT_THAT(see({sending(1), sending(2), sending(3), sending(4)}), ElementsAre("abort 4"));
  answer(4, AbortAnswer::gone);
  EXPECT_EQ(tails.unwatched, 0u);
  EXPECT_EQ(counts().begun, 3u);
}

TEST_F(TailsTest, AtItsEndThoseThatAreLeftAreUndelivered) {
  begin(false);
  see({sending(1), sending(2), sending(3), sending(4)});
  see({sending(1, 0), sending(2), sending(3), sending(4), sending(5)});
  EXPECT_EQ(tails.unwatched, 1u);
  post(TailWatchEnds{});
  EXPECT_EQ(counts().undelivered, 4u);
  EXPECT_EQ(counts().begun, outcomes());
  post(TailWatchEnds{});
  EXPECT_EQ(counts().undelivered, 4u) << "once";
  EXPECT_EQ(next(), never);
  EXPECT_EQ(said(), TailVerdict::underway);
}

TEST_F(TailsTest, AfterItsEndAnswersChangeNothing) {
  begin();
  stall(1);
  post(TailWatchEnds{});
  EXPECT_THAT(answer(1, AbortAnswer::done), IsEmpty());
  EXPECT_THAT(see({sending(1)}), IsEmpty());
  EXPECT_THAT(post(TailsUnseen{}), IsEmpty());
  EXPECT_THAT(after(1h), IsEmpty());
  EXPECT_EQ(counts().undelivered, 1u);
  EXPECT_EQ(outcomes(), 1u);
  EXPECT_EQ(said(), TailVerdict::underway);
}

TEST_F(TailsTest, WhatAnotherWatchesFromNowOnIsNeitherCountedNorMissed) {
  begin();
  see({sending(1), sending(2)});
  ASSERT_EQ(counts().begun, 2u);
  post(TailsSeen{{sending(2)}, {{1}}});
  EXPECT_EQ(counts().begun, 1u);
  EXPECT_EQ(outcomes(), 0u);
  see({ended_well(2)});
  EXPECT_EQ(said(), TailVerdict::delivered);
  EXPECT_EQ(counts().begun, outcomes());
}

TEST_F(TailsTest, WhatIsTakenAfterItHadAnOutcomeKeepsThat) {
  begin();
  stall(1);
  answer(1, AbortAnswer::refused);
  post(TailsSeen{{}, {{1}, {7}}});
  EXPECT_EQ(failed_closed(tails), 0u);
  EXPECT_EQ(counts().fail_closed, 1u) << "and " << counts().begun << " begun";
  EXPECT_EQ(said(), TailVerdict::delivered);
}

TEST_F(TailsTest, AWatchThatBeginsAnewLooksAtOnceAndForgetsWhatFailed) {
  begin();
  for (unsigned i = 0; i < policy.most_failed_looks; ++i) post(TailsUnseen{});
  ASSERT_EQ(said(), TailVerdict::fail_closed);
  EXPECT_THAT(begin(), ElementsAre("look"));
  EXPECT_EQ(said(), TailVerdict::underway);
  see({sending(1)});
  EXPECT_EQ(next(), now + policy.linger.look_first);
}
}  // namespace
}  // namespace moult
