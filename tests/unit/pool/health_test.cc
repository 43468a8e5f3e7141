#include "master/pool/health.h"

#include <gtest/gtest.h>
namespace moult {
namespace {
using namespace std::chrono_literals;
constexpr MonotonicTime now{1000s};

TEST(Health, AWorkerIsHungAtTheTimeoutAndNotAMillisecondBefore) {
  const HealthPolicy policy{30s, 0s};
  EXPECT_FALSE(hung_because({now - 30s + 1ms, {}}, policy, now));
  ASSERT_TRUE(hung_because({now - 30s, {}}, policy, now));
  EXPECT_EQ(*hung_because({now - 30s, {}}, policy, now), "no heartbeat for 30.0 s (--timeout 30.0 s)");
}

TEST(Health, ARequestIsTooLongAtTheRequestTimeoutAndNotAMillisecondBefore) {
  const HealthPolicy policy{30s, 5s};
  EXPECT_FALSE(hung_because({now, now - 5s + 1ms}, policy, now));
  EXPECT_TRUE(hung_because({now, now - 5s}, policy, now));
}

TEST(Health, SilenceOfOneThatNeverPromisedAHeartbeatMeansNothing) {
  EXPECT_FALSE(hung_because({std::nullopt, std::nullopt}, {1s, 1s}, now));
}

TEST(Health, ZeroSwitchesEachTimeoutOff) {
  EXPECT_FALSE(hung_because({now - 1h, now - 1h}, {0s, 0s}, now));
  EXPECT_FALSE(look_every({0s, 0s}));
}

TEST(Health, TheWatchLooksFourTimesWithinTheShortestTimeoutButNotTooOften) {
  EXPECT_EQ(look_every({30s, 0s}), 1s);
  EXPECT_EQ(look_every({2s, 0s}), 500ms);
  EXPECT_EQ(look_every({30s, 2s}), 500ms);
  EXPECT_EQ(look_every({100ms, 0s}), 100ms);
}
}  // namespace
}  // namespace moult
