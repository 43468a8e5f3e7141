// How often an abort is tried, in virtual time, and that one that cannot be had is not taken for granted.
#include "master/connections/abort_ladder.h"

#include <gmock/gmock.h>
namespace moult {
namespace {
using namespace std::chrono_literals;

class AbortLadderTest : public testing::Test {
 protected:
  AbortState answer(AbortAnswer said) {
    ladder = answered(ladder, said, policy, now, random);
    return ladder.state;
  }
  AbortPolicy policy;
  Random random;
  MonotonicTime now{1000s};
  AbortLadder ladder;
};

TEST_F(AbortLadderTest, TheFirstAttemptIsDueAtOnce) { EXPECT_LE(ladder.backoff.retry_at, now); }

TEST_F(AbortLadderTest, WhatTheKernelDidIsAborted) { EXPECT_EQ(answer(AbortAnswer::done), AbortState::aborted); }

TEST_F(AbortLadderTest, WhatWasGoneIsNotCalledAborted) { EXPECT_EQ(answer(AbortAnswer::gone), AbortState::gone); }

TEST_F(AbortLadderTest, ARefusalFailsClosedAtOnce) {
  EXPECT_EQ(answer(AbortAnswer::refused), AbortState::fail_closed);
  EXPECT_EQ(ladder.attempts, 1u);
}

TEST_F(AbortLadderTest, FailuresAreRetriedEverMoreRarelyAndThenFailClosed) {
  Duration before{};
  for (unsigned attempt = 1; attempt < policy.most_attempts; ++attempt) {
    ASSERT_EQ(answer(AbortAnswer::failed), AbortState::climbing) << attempt;
    const Duration wait = ladder.backoff.retry_at - now;
    EXPECT_GE(wait, policy.retry.first) << "no retry is free: the kernel was just asked";
    EXPECT_GT(wait, before);
    EXPECT_LE(wait, policy.retry.cap + policy.retry.cap / 10);
    before = wait;
    now = ladder.backoff.retry_at;
  }
  EXPECT_EQ(answer(AbortAnswer::failed), AbortState::fail_closed);
  EXPECT_EQ(ladder.attempts, policy.most_attempts);
}

TEST_F(AbortLadderTest, ALateSuccessIsOne) {
  for (unsigned attempt = 1; attempt < policy.most_attempts; ++attempt) answer(AbortAnswer::failed);
  EXPECT_EQ(answer(AbortAnswer::done), AbortState::aborted);
}

TEST_F(AbortLadderTest, ItsEndIsFinal) {
  answer(AbortAnswer::refused);
  EXPECT_EQ(answer(AbortAnswer::done), AbortState::fail_closed);
}
}  // namespace
}  // namespace moult
