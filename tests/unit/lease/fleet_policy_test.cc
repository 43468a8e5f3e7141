#include "lease/fleet_policy.h"

#include <gmock/gmock.h>

namespace moult {
namespace {
using testing::HasSubstr;

TEST(FleetPolicy, TheDefaultsSuitEveryNumberOfWorkers) {
  for (unsigned workers = 0; workers <= 64; ++workers) EXPECT_TRUE(check(FleetPolicy{}, workers)) << workers;
}

TEST(FleetPolicy, AMinimumThatNothingCouldKeepIsRefusedWithTheOneThatWorks) {
  FleetPolicy policy;
  policy.minimum_healthy_percent = 67;
  EXPECT_TRUE(check(policy, 4));
  const auto refused = check(policy, 3);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("at most 66%"));
  policy.minimum_healthy_percent = 66;
  EXPECT_TRUE(check(policy, 3));
}

TEST(FleetPolicy, ASingleWorkerIsReplacedByOverlapAndMayHaveAnyMinimum) {
  FleetPolicy policy;
  policy.minimum_healthy_percent = 100;
  EXPECT_TRUE(check(policy, 1));
  EXPECT_FALSE(check(policy, 2));
}

TEST(FleetPolicy, NamesTheFlagOfAValueOutOfRange) {
  const auto message = [](auto change) {
    FleetPolicy policy;
    change(policy);
    const auto result = check(policy, 3);
    return result ? std::string("accepted") : result.error().message;
  };
  EXPECT_THAT(message([](FleetPolicy& p) { p.permits = 0; }), HasSubstr("--lease-permits"));
  EXPECT_THAT(message([](FleetPolicy& p) { p.permits = most_permits + 1; }), HasSubstr("--lease-permits"));
  EXPECT_EQ(message([](FleetPolicy& p) { p.permits = most_permits; }), "accepted");
  EXPECT_THAT(message([](FleetPolicy& p) { p.ttl = std::chrono::milliseconds(999); }), HasSubstr("--lease-ttl"));
  EXPECT_THAT(message([](FleetPolicy& p) { p.tokens_per_hour = 0; }), HasSubstr("--recycle-rate"));
  EXPECT_THAT(message([](FleetPolicy& p) { p.burst = 0; }), HasSubstr("--recycle-burst"));
  EXPECT_THAT(message([](FleetPolicy& p) { p.minimum_healthy_percent = 101; }), HasSubstr("--min-healthy"));
  EXPECT_EQ(message([](FleetPolicy& p) { p.rate_per = RatePer::unlimited, p.tokens_per_hour = 0; }), "accepted");
}
}  // namespace
}  // namespace moult
