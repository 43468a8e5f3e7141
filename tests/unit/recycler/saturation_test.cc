#include "recycler/saturation.h"

#include <gmock/gmock.h>

#include "recycler/cooldown.h"

namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
const RecyclePolicy defaults;
const GateFigures local{1, 3, 2};

TEST(Saturation, RoutineIsBoundByTheSmallestOfCooldownLeaseAndBucket) {
  const auto at = [](const GateFigures& gate, Duration replacement) {
    return saturation(Urgency::routine, defaults, gate, replacement);
  };
  EXPECT_DOUBLE_EQ(at(local, 4s).per_hour(), 3);
  EXPECT_STREQ(at(local, 4s).bounds.front().by, "bucket");
  EXPECT_DOUBLE_EQ(at({1, 1000, 2}, 4s).per_hour(), 30);
  EXPECT_STREQ(at({1, 1000, 2}, 4s).bounds.front().by, "cooldown");
  EXPECT_DOUBLE_EQ(at({1, 1000, 2}, 4min).per_hour(), 15);
  EXPECT_STREQ(at({2, 1000, 2}, 4min).bounds.front().by, "cooldown");
}

TEST(Saturation, WithoutABucketOnlyTimeBinds) {
  EXPECT_EQ(saturation(Urgency::routine, defaults, {1, 0, 0}, 1s).bounds.size(), 2u);
}

TEST(Saturation, UrgentIsBoundByItsCooldownAlone) {
  for (const Urgency urgency : {Urgency::hard_limit, Urgency::pressure}) {
    const Saturation s = saturation(urgency, defaults, local, 4s);
    EXPECT_DOUBLE_EQ(s.per_hour(), 3600);
    EXPECT_EQ(s.longest_hold, Duration(1s));
  }
}

TEST(Saturation, WhereAStoreDecidesAnUrgentOneMayWaitForIt) {
  EXPECT_EQ(saturation(Urgency::hard_limit, defaults, {1, 3, 2, true, 4s}, 4s).longest_hold, Duration(5s));
}

TEST(Saturation, TheLongestHoldIsTheSumOfItsParts) {
  RecyclePolicy policy;
  EXPECT_EQ(longest_hold(policy, Urgency::routine), Duration(120s + 100ms));
  EXPECT_EQ(longest_hold(policy, Urgency::hard_limit), Duration(1s));
  policy.busy_requests_per_second = 10;
  EXPECT_EQ(longest_hold(policy, Urgency::routine), Duration(180s + 100ms));
  EXPECT_EQ(longest_hold(policy, Urgency::routine, 2), Duration(540s + 100ms));
  EXPECT_EQ(longest_hold(policy, Urgency::pressure), Duration(1s));
}

TEST(Saturation, SaysALineForEachUrgency) {
  const auto lines = saturation_lines(defaults, local, 4s, 3);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0],
            "routine: at most 3 recycles an hour (bucket 3, cooldown 30, lease 900) after a burst of 2; each of 3 "
            "workers once in 60 min; one alone waits at most 120.1 s while the budget lasts");
  EXPECT_THAT(lines[1], HasSubstr("hard_limit: at most 3600 recycles an hour (cooldown 3600), beyond 3 an hour"));
  EXPECT_THAT(lines[2], HasSubstr("pressure"));
}

TEST(Saturation, OfAFleetItSaysThatThisInstancesWorkersAloneAreCounted) {
  for (const std::string& line : saturation_lines(defaults, {1, 3, 2, true, 4s}, 4s, 3)) {
    EXPECT_THAT(line, HasSubstr("each of its own 3 workers once in"));
    EXPECT_THAT(line, HasSubstr("; of the fleet's workers this instance's alone are counted here"));
  }
  EXPECT_THAT(saturation_lines(defaults, local, 4s, 3)[0], Not(HasSubstr("fleet")));
}
}  // namespace
}  // namespace moult
