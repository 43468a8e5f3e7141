// When what was sent counts as delivered, in virtual time: an acknowledgement says so, and nothing else.
#include "master/connections/linger.h"

#include <gmock/gmock.h>
#include <netinet/tcp.h>

#include <vector>
namespace moult {
namespace {
using namespace std::chrono_literals;

class LingerTest : public testing::Test {
 protected:
  LingerState look(const SendQueueLook& seen) {
    linger = advance(linger, seen, policy, now);
    return linger.state;
  }
  LingerState see(int tcp_state, std::uint64_t unacknowledged, std::uint64_t acknowledged = 0) {
    return look(SendQueueReading{unacknowledged, acknowledged, tcp_state});
  }
  void begin() { linger = begin_linger(policy, now); }

  LingerPolicy policy;
  MonotonicTime now{1000s};
  Linger linger = begin_linger(policy, now);
};

TEST_F(LingerTest, TheDefaultsAreThoseOfTheDesign) {
  EXPECT_EQ(policy.patience, 5min);
  EXPECT_EQ(policy.look_first, 1ms);
  EXPECT_EQ(policy.look_last, 1s);
  EXPECT_EQ(most_lingers, 256u);
}

TEST_F(LingerTest, WhatIsAcknowledgedOnAnOpenConnectionIsDelivered) {
  EXPECT_EQ(see(TCP_ESTABLISHED, 0), LingerState::delivered);
  begin();
  EXPECT_EQ(see(TCP_CLOSE_WAIT, 0), LingerState::delivered);
}

TEST_F(LingerTest, OneByteLessIsUnderway) {
  EXPECT_EQ(see(TCP_ESTABLISHED, 1), LingerState::underway);
  EXPECT_EQ(see(TCP_CLOSE_WAIT, 1), LingerState::underway);
}

TEST_F(LingerTest, AFinThatIsNotAcknowledgedIsUnderwayThoughNoByteIsLeft) {
  for (const int state : {TCP_FIN_WAIT1, TCP_CLOSING, TCP_LAST_ACK}) {
    EXPECT_EQ(see(state, 1), LingerState::underway) << state;
    EXPECT_EQ(see(state, 0), LingerState::underway) << state;
  }
}

TEST_F(LingerTest, AnAcknowledgedFinIsDelivered) {
  for (const int state : {TCP_FIN_WAIT2, TCP_TIME_WAIT}) {
    begin();
    EXPECT_EQ(see(state, 0), LingerState::delivered) << state;
  }
}

TEST_F(LingerTest, AClosedConnectionIsDeliveredIfNothingIsLeftAndWasResetIfTheCountStays) {
  EXPECT_EQ(see(TCP_CLOSE, 0), LingerState::delivered);
  begin();
  EXPECT_EQ(see(TCP_CLOSE, 1), LingerState::reset);
  begin();
  EXPECT_EQ(see(TCP_CLOSE, 3'877'888), LingerState::reset);
}

TEST_F(LingerTest, OneThatVanishesWithNothingButItsFinOutstandingIsDelivered) {
  see(TCP_LAST_ACK, 1);
  EXPECT_EQ(look(Vanished{}), LingerState::delivered);
}

TEST_F(LingerTest, OneThatVanishesWithBytesOutstandingWasReset) {
  see(TCP_LAST_ACK, 2);
  EXPECT_EQ(look(Vanished{}), LingerState::reset);
  begin();
  see(TCP_ESTABLISHED, 1);
  EXPECT_EQ(look(Vanished{}), LingerState::reset) << "that byte was no FIN";
}

TEST_F(LingerTest, OneThatVanishesUnseenIsNotDelivered) { EXPECT_EQ(look(Vanished{}), LingerState::reset); }

TEST_F(LingerTest, WithoutProgressItStallsAtTheTimeoutAndNotAMillisecondEarlier) {
  see(TCP_ESTABLISHED, 1000, 500);
  now += policy.patience - 1ms;
  EXPECT_EQ(see(TCP_ESTABLISHED, 1000, 500), LingerState::underway);
  now += 1ms;
  EXPECT_EQ(see(TCP_ESTABLISHED, 1000, 500), LingerState::stalled);
}

TEST_F(LingerTest, ProgressRenewsTheTimeout) {
  for (std::uint64_t left = 100; left > 0; --left) {
    EXPECT_EQ(see(TCP_FIN_WAIT1, left), LingerState::underway) << left;
    now += policy.patience - 1ms;
  }
  EXPECT_EQ(see(TCP_FIN_WAIT2, 0), LingerState::delivered);
}

TEST_F(LingerTest, AnAcknowledgementIsProgressThoughItsSenderQueuesMoreMeanwhile) {
  for (std::uint64_t acknowledged = 1; acknowledged < 50; ++acknowledged) {
    EXPECT_EQ(see(TCP_ESTABLISHED, 65'536 + acknowledged, acknowledged), LingerState::underway);
    now += policy.patience - 1ms;
  }
}

TEST_F(LingerTest, WhatIsQueuedIsNoProgress) {
  see(TCP_ESTABLISHED, 1000);
  now += policy.patience;
  EXPECT_EQ(see(TCP_ESTABLISHED, 2000), LingerState::stalled);
}

TEST_F(LingerTest, AStalledOneThatMovesAgainIsUnderwayAndThenDelivered) {
  see(TCP_ESTABLISHED, 1000);
  now += policy.patience;
  ASSERT_EQ(see(TCP_ESTABLISHED, 1000), LingerState::stalled);
  EXPECT_EQ(see(TCP_ESTABLISHED, 999), LingerState::underway);
  now += policy.patience - 1ms;
  EXPECT_EQ(see(TCP_ESTABLISHED, 999), LingerState::underway);
  EXPECT_EQ(see(TCP_ESTABLISHED, 0), LingerState::delivered);
}

TEST_F(LingerTest, AFailedLookIsNeverDeliveredHoweverOftenItFails) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(look(LookFailed{}),
              now - MonotonicTime(1000s) >= policy.patience ? LingerState::stalled : LingerState::underway);
    now += 10s;
  }
}

TEST_F(LingerTest, AFailedLookForgetsNothing) {
  see(TCP_LAST_ACK, 2);
  look(LookFailed{});
  EXPECT_EQ(linger.last.unacknowledged_bytes, 2u);
  EXPECT_EQ(look(Vanished{}), LingerState::reset);
}

TEST_F(LingerTest, WhatIsFinalStaysAndIsNotLookedAtAgain) {
  see(TCP_CLOSE, 1);
  EXPECT_EQ(linger.next_look, never);
  EXPECT_EQ(see(TCP_ESTABLISHED, 0), LingerState::reset);
  begin();
  see(TCP_FIN_WAIT2, 0);
  EXPECT_EQ(linger.next_look, never);
  EXPECT_EQ(look(LookFailed{}), LingerState::delivered);
}

TEST_F(LingerTest, LooksComeAfterOneMillisecondDoublingToASecond) {
  EXPECT_EQ(linger.next_look, now) << "the first at once";
  std::vector<std::int64_t> waits;
  for (int i = 0; i < 13; ++i) {
    see(TCP_ESTABLISHED, 1);
    waits.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(linger.next_look - now).count());
    now = linger.next_look;
  }
  EXPECT_THAT(waits, testing::ElementsAre(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1000, 1000));
}

TEST_F(LingerTest, AStalledOneIsLookedAtOn) {
  see(TCP_ESTABLISHED, 1000);
  now += policy.patience;
  ASSERT_EQ(see(TCP_ESTABLISHED, 1000), LingerState::stalled);
  EXPECT_LE(linger.next_look, now + policy.look_last);
}
}  // namespace
}  // namespace moult
