// What becomes of connections that close here, in virtual time: each is watched to its end, or counted as not.
#include "master/connections/closing.h"

#include <netinet/tcp.h>

#include "base/random.h"
#include "tests/unit/connections/core_test.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

std::string text(const ClosingAction& action) {
  const auto number = [](ClosingId id) { return std::to_string(id.value); };
  return std::visit(Match{[&](const Listen& a) { return "listen to " + number(a.id); },
                          [&](const LookAtQueue& a) { return "look at " + number(a.id); },
                          [&](const AbortClosing& a) { return "abort " + number(a.id); },
                          [&](const LetClosingGo& a) { return "let go " + number(a.id); }},
                    action);
}

constexpr SendQueueReading underway_1{1000, 0, TCP_FIN_WAIT1};
constexpr SendQueueReading delivered_1{0, 1001, TCP_FIN_WAIT2};
constexpr SendQueueReading reset_1{1000, 0, TCP_CLOSE};

class ClosingTest : public CoreTest<Closings, ClosingEvent, ClosingAction, ClosingPolicy> {
 protected:
  ClosingTest() : CoreTest(text, {.linger = {}, .most = 3}) {}
  std::vector<std::string> see(std::uint64_t id, const SendQueueReading& reading) {
    return post(QueueSeen{{id}, reading});
  }
  void begin(std::uint64_t id) {
    post(ClosingBegins{{id}});
    see(id, underway_1);
  }
  void stall(std::uint64_t id) {
    now += policy.linger.patience;
    see(id, underway_1);
  }
  const LingerCounts& counts() const { return closings.counts; }
  std::uint64_t outcomes() const {
    return counts().delivered + counts().reset + counts().aborted + counts().fail_closed + counts().undelivered;
  }

  Closings& closings = state;
};

TEST_F(ClosingTest, OneThatBeginsIsListenedToAndLookedAtAtOnce) {
  EXPECT_THAT(post(ClosingBegins{{1}}), ElementsAre("listen to 1", "look at 1"));
  EXPECT_EQ(next(), never) << "until that look has its answer";
  EXPECT_THAT(see(1, underway_1), IsEmpty());
  EXPECT_EQ(next(), now + policy.linger.look_first);
}

TEST_F(ClosingTest, ItIsLookedAtAgainWhenThatIsDueAndOnceOnly) {
  begin(1);
  EXPECT_THAT(after(policy.linger.look_first - 1ns), IsEmpty());
  EXPECT_THAT(after(1ns), ElementsAre("look at 1"));
  EXPECT_THAT(after(1s), IsEmpty()) << "it was asked, and has not answered";
}

TEST_F(ClosingTest, WhatIsDeliveredToAClientThatHungUpIsLetGo) {
  begin(1);
  EXPECT_THAT(post(ClosingClientEnded{{1}}), ElementsAre("look at 1")) << "it may have reset us";
  EXPECT_THAT(see(1, underway_1), IsEmpty()) << "its end is no acknowledgement";
  EXPECT_THAT(see(1, delivered_1), ElementsAre("let go 1"));
  EXPECT_EQ(counts().delivered, 1u);
}

TEST_F(ClosingTest, AClientThatHasAllKeepsUsUntilItHangsUp) {
  begin(1);
  EXPECT_THAT(see(1, delivered_1), IsEmpty());
  EXPECT_EQ(counts().delivered, 1u);
  EXPECT_EQ(undelivered(closings), 0u);
  EXPECT_EQ(closings.connections.size(), 1u);
  EXPECT_THAT(post(ClosingClientEnded{{1}}), ElementsAre("let go 1"));
  EXPECT_EQ(counts().delivered, 1u) << "once";
}

TEST_F(ClosingTest, AClientThatHasAllAndNeverHangsUpIsLetGoAfterItsLastWords) {
  begin(1);
  see(1, delivered_1);
  EXPECT_EQ(next(), now + policy.last_words);
  EXPECT_THAT(after(policy.last_words - 1ns), IsEmpty());
  EXPECT_THAT(after(1ns), ElementsAre("let go 1"));
  EXPECT_EQ(outcomes(), 1u);
}

TEST_F(ClosingTest, AResetReleasesAtOnceThoughTheQueueCountStays) {
  begin(1);
  EXPECT_THAT(see(1, reset_1), ElementsAre("let go 1"));
  EXPECT_EQ(counts().reset, 1u);
}

TEST_F(ClosingTest, AFailedLookIsNoDelivery) {
  begin(1);
  for (int i = 0; i < 1000; ++i) {
    now += 10s;
    EXPECT_THAT(post(QueueSeen{{1}, LookFailed{}}), IsEmpty());
  }
  EXPECT_EQ(undelivered(closings), 1u);
  EXPECT_EQ(stalled(closings), 1u);
}

TEST_F(ClosingTest, AStalledOneIsKeptWhereNothingMayBeAborted) {
  begin(1);
  EXPECT_EQ(stalled(closings), 0u);
  stall(1);
  EXPECT_EQ(stalled(closings), 1u);
  EXPECT_EQ(undelivered(closings), 1u);
  EXPECT_EQ(next(), now + 2 * policy.linger.look_first) << "it may move again";
}

TEST_F(ClosingTest, AStalledOneIsAbortedWhereThatIsAllowedAndOneThatMovesIsNot) {
  post(AbortsAllowed{true});
  begin(1);
  begin(2);
  now += policy.linger.patience;
  EXPECT_THAT(see(2, {999, 1, TCP_FIN_WAIT1}), IsEmpty());
  EXPECT_THAT(see(1, underway_1), ElementsAre("abort 1"));
  EXPECT_EQ(counts().aborted, 1u);
  EXPECT_EQ(undelivered(closings), 1u);
}

TEST_F(ClosingTest, OneThatHasStalledIsAbortedAsSoonAsThatIsAllowed) {
  begin(1);
  begin(2);
  now += policy.linger.patience;
  see(1, underway_1);
  see(2, {999, 1, TCP_FIN_WAIT1});
  EXPECT_THAT(post(AbortsAllowed{true}), ElementsAre("abort 1"));
  post(AbortsAllowed{false});
  now += policy.linger.patience;
  EXPECT_THAT(see(2, {999, 1, TCP_FIN_WAIT1}), IsEmpty()) << "not allowed any more";
}

TEST_F(ClosingTest, OneThatPartsIsNotAborted) {
  begin(1);
  stall(1);
  see(1, delivered_1);
  EXPECT_THAT(post(AbortsAllowed{true}), IsEmpty());
  EXPECT_EQ(counts().delivered, 1u);
}

TEST_F(ClosingTest, OneTooManyIsCountedAsUndeliveredAndLetGo) {
  for (const std::uint64_t id : {1, 2, 3}) begin(id);
  EXPECT_THAT(post(ClosingBegins{{4}}), ElementsAre("let go 4"));
  EXPECT_EQ(counts().begun, 4u);
  EXPECT_EQ(counts().undelivered, 1u);
  EXPECT_EQ(closings.connections.size(), 3u);
}

TEST_F(ClosingTest, OneTooManyIsAbortedAtOnceWhereThatIsAllowed) {
  for (const std::uint64_t id : {1, 2, 3}) begin(id);
  post(AbortsAllowed{true});
  EXPECT_THAT(post(ClosingBegins{{4}}), ElementsAre("abort 4"));
  EXPECT_EQ(counts().aborted, 1u);
  EXPECT_EQ(counts().undelivered, 0u);
}

TEST_F(ClosingTest, OneThatPartsMakesRoomTheOldestFirst) {
  for (const std::uint64_t id : {1, 2, 3}) begin(id);
  see(3, delivered_1);
  now += 1ms;
  see(1, delivered_1);
  EXPECT_THAT(post(ClosingBegins{{4}}), ElementsAre("let go 3", "listen to 4", "look at 4"));
  EXPECT_THAT(post(ClosingBegins{{5}}), ElementsAre("let go 1", "listen to 5", "look at 5"));
  EXPECT_THAT(post(ClosingBegins{{6}}), ElementsAre("let go 6"));
  EXPECT_EQ(counts().undelivered, 1u);
}

TEST_F(ClosingTest, OneThatPartsStaysWhileThereIsRoom) {
  begin(1);
  see(1, delivered_1);
  EXPECT_THAT(post(ClosingBegins{{2}}), ElementsAre("listen to 2", "look at 2"));
  EXPECT_EQ(closings.connections.size(), 2u);
}

TEST_F(ClosingTest, WhereNoneMayBeWatchedEachIsLetGo) {
  policy.most = 0;
  EXPECT_THAT(post(ClosingBegins{{1}}), ElementsAre("let go 1"));
}

TEST_F(ClosingTest, AtTheEndOfTheWatchThoseThatAreLeftAreUndeliveredAndThoseThatPartAreNot) {
  begin(1);
  begin(2);
  see(2, delivered_1);
  EXPECT_THAT(post(WatchEnds{}), ElementsAre("let go 1", "let go 2"));
  EXPECT_EQ(counts().undelivered, 1u);
  EXPECT_EQ(counts().delivered, 1u);
  EXPECT_EQ(next(), never);
}

TEST_F(ClosingTest, LateAnswersFindNoOne) {
  begin(1);
  see(1, delivered_1);
  EXPECT_THAT(see(1, reset_1), IsEmpty()) << "it is delivered";
  post(ClosingClientEnded{{1}});
  EXPECT_THAT(see(1, reset_1), IsEmpty());
  EXPECT_THAT(post(ClosingClientEnded{{1}}), IsEmpty());
  begin(2);
  post(ClosingClientEnded{{2}});
  EXPECT_THAT(post(ClosingClientEnded{{2}}), IsEmpty());
  EXPECT_EQ(outcomes(), 1u);
}

// Whatever happens in whatever order: each that began is let go or aborted exactly once, and the outcomes sum to those
// that began.
TEST_F(ClosingTest, OutcomesSumToThoseThatBegan) {
  Random random{7};
  std::map<std::string, int> ended;
  std::uint64_t last = 0;
  const auto watch = [&](const std::vector<std::string>& told) {
    for (const std::string& each : told)
      if (each.starts_with("let go ") || each.starts_with("abort ")) {
        ASSERT_EQ(++ended[each.substr(each.rfind(' ') + 1)], 1) << each;
      }
  };
  const auto any = [&] { return last == 0 ? 1 : 1 + random.next() % last; };
  for (int i = 0; i < 100'000; ++i) {
    now += Duration(random.next() % 400'000'000);
    switch (random.next() % 10) {
      case 0:
      case 1: watch(post(ClosingBegins{{++last}})); break;
      case 2:
        for (const auto& [id, each] : std::map(closings.connections))
          watch(see(id.value, {random.next() % 3, random.next() % 3, static_cast<int>(1 + random.next() % 11)}));
        break;
      case 3: watch(post(QueueSeen{{any()}, LookFailed{}})); break;
      case 4: watch(post(ClosingClientEnded{{last}})); break;
      case 5: watch(post(AbortsAllowed{random.next() % 2 == 0})); break;
      case 6:
        if (random.next() % 50 == 0) watch(post(WatchEnds{}));
        break;
      default: watch(post(TimePassed{}));
    }
    ASSERT_LE(closings.connections.size(), policy.most);
    ASSERT_EQ(counts().begun, outcomes() + undelivered(closings));
    ASSERT_EQ(ended.size() + closings.connections.size(), last);
  }
  for (const auto count : {counts().delivered, counts().reset, counts().aborted, counts().undelivered})
    EXPECT_GT(count, 100u) << "the run went through all of it";
}
}  // namespace
}  // namespace moult
