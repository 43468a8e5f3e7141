// A healthy log names nothing.
#include "tests/unit/doctor/diagnosis.h"
#include "tests/unit/doctor/healthy_day.h"
namespace moult {
namespace {
using testing::IsEmpty;

const HealthyDay& day() {
  static const HealthyDay one;
  return one;
}

TEST(Healthy, ADayOfTheRecyclersOwnRulesNamesNothing) {
  EXPECT_THAT(named(day().lines), IsEmpty());
  const History history = history_of(day().lines);
  EXPECT_GT(history.recycles.size(), 50u);
  EXPECT_EQ(history.malformed.lines, 0u);
}

TEST(Healthy, OfADayThereIsEnoughToSayThatLivesAreLong) {
  const Check runway = check_runway(history_of(day().lines));
  EXPECT_EQ(runway.level, Level::fine) << runway.verdict;
}

TEST(Healthy, AnEmptyLogNamesNothingAndSaysThatItIsTooFew) {
  for (const Check& check : all_checks(History{})) {
    EXPECT_NE(check.level, Level::finding) << check.name;
    EXPECT_FALSE(check.verdict.empty()) << check.name;
  }
  EXPECT_EQ(check_runway(History{}).level, Level::too_few);
}

TEST(Healthy, RecyclesThatSomebodyAskedForSayNothingOfLimits) {
  const Lines asked = recycles(
      40, {{"reason", "max_requests"}, {"limit_bytes", 400'000'000}, {"requests", 10}, {"lifetime_seconds", 5}}, 60);
  EXPECT_THAT(named(asked), IsEmpty());
}

TEST(Healthy, WorkersWithoutALimitSayNothingOfIt) {
  const Lines lines = recycles(
      40, {{"limit_bytes", nullptr}, {"hard_limit_bytes", nullptr}, {"requests", 10}, {"lifetime_seconds", 5}});
  EXPECT_THAT(named(lines), IsEmpty());
}
}  // namespace
}  // namespace moult
