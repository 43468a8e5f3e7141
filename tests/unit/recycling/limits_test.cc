// Which limits workers draw from, by generation: refused on trial, raised afterwards, settled once known.
#include "master/recycling/limits.h"

#include <gmock/gmock.h>
namespace moult {
namespace {
using testing::HasSubstr;
using testing::IsEmpty;
constexpr std::uint64_t MB = megabyte;

LimitSettings given(std::uint64_t base) {
  LimitSettings settings;
  settings.base = LimitSettings::Base::given;
  settings.base_bytes = base;
  return settings;
}
constexpr Surroundings around{2000 * MB, 200 * MB, 360 * MB, 3};
Newborn weighing(std::uint64_t rss, std::uint64_t generation = 1) { return {{generation}, rss, 20 * MB}; }

TEST(Limits, WithoutAMemoryLimitThereIsNone) {
  Limits limits({});
  const auto drawn = limits.on_trial(weighing(360 * MB), around);
  ASSERT_TRUE(drawn);
  EXPECT_EQ(drawn->range.lowest_bytes, no_limit);
  EXPECT_EQ(limits.proven(weighing(360 * MB), around).range.hard_bytes, no_limit);
}

TEST(Limits, CodeOnTrialIsRefusedWhereItsWorkersHaveTooLittleRunway) {
  Limits limits(given(500 * MB));
  EXPECT_TRUE(limits.on_trial(weighing(320 * MB), around));
  const auto refused = limits.on_trial(weighing(360 * MB, 2), around);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("360 MB"));
  EXPECT_EQ(limits.base_bytes({2}), 0u) << "nothing is kept of what was refused";
}

TEST(Limits, AWorkerOfCodeThatServesGetsARaisedLimitAndThatIsSaidOnce) {
  Limits limits(given(500 * MB));
  ASSERT_TRUE(limits.on_trial(weighing(300 * MB), around));
  const DrawFrom raised = limits.proven(weighing(400 * MB), around);
  EXPECT_TRUE(raised.range.raised);
  EXPECT_EQ(raised.range.lowest_bytes, 560 * MB);
  EXPECT_LT(raised.range.highest_bytes, raised.range.hard_bytes);
  EXPECT_THAT(raised.note, HasSubstr("raised from 460 MB to 560 MB"));
  EXPECT_THAT(limits.proven(weighing(400 * MB), around).note, IsEmpty());
}

TEST(Limits, RunwayRaiseLetsCodeOnTrialInAndSaysSo) {
  LimitSettings settings = given(500 * MB);
  settings.runway = Runway::raise;
  Limits limits(settings);
  const auto drawn = limits.on_trial(weighing(400 * MB), around);
  ASSERT_TRUE(drawn);
  EXPECT_THAT(drawn->note, HasSubstr("is raised"));
}

TEST(Limits, ASettledWeightLiftsTheLowestLimitAndNeverTheHighestOrTheHardOne) {
  Limits limits(given(500 * MB));
  ASSERT_TRUE(limits.on_trial(weighing(300 * MB), around));
  limits.settled({1}, 390 * MB);
  limits.settled({1}, 340 * MB);  // the least of them counts
  const DrawFrom next = limits.proven(weighing(300 * MB), around);
  EXPECT_EQ(next.range.lowest_bytes, 476 * MB);
  EXPECT_EQ(next.range.highest_bytes, 540 * MB);
  EXPECT_EQ(next.range.hard_bytes, 650 * MB);
  EXPECT_THAT(next.note, IsEmpty());
}

TEST(Limits, AnAppThatLeaksFromTheStartBuysItsSuccessorsNoHigherLimit) {
  LimitSettings settings = given(100 * MB);
  settings.hard_bytes = 130 * MB;
  Limits limits(settings);
  ASSERT_TRUE(limits.on_trial(weighing(32 * MB), around));
  limits.settled({1}, 88 * MB);  // 50 requests of leak
  const DrawFrom next = limits.proven(weighing(32 * MB), around);
  EXPECT_EQ(next.range.highest_bytes, 108 * MB);
  EXPECT_EQ(next.range.hard_bytes, 130 * MB);
}

TEST(Limits, AGivenHardLimitNeverMoves) {
  LimitSettings settings = given(500 * MB);
  settings.hard_bytes = 560 * MB;
  Limits limits(settings);
  ASSERT_TRUE(limits.on_trial(weighing(300 * MB), around));
  const DrawFrom heavy = limits.proven(weighing(450 * MB), around);
  EXPECT_EQ(heavy.range.hard_bytes, 560 * MB);
  EXPECT_LT(heavy.range.highest_bytes, 560 * MB);
  EXPECT_LE(heavy.range.lowest_bytes, heavy.range.highest_bytes);
}

TEST(Limits, RunwayRaiseLiftsTheHardLimitThatNobodyGave) {
  LimitSettings settings = given(60 * MB);
  settings.runway = Runway::raise;
  Limits limits(settings);
  const auto drawn = limits.on_trial(weighing(32 * MB), around);
  ASSERT_TRUE(drawn) << drawn.error().message;
  EXPECT_EQ(drawn->range.lowest_bytes, 82 * MB);
  EXPECT_GT(drawn->range.hard_bytes, drawn->range.highest_bytes);
}

TEST(Limits, AutoSharesOutWhatThereIsAndPrintsTheSum) {
  LimitSettings settings;
  settings.base = LimitSettings::Base::automatic;
  Limits limits(settings);
  const auto drawn = limits.on_trial(weighing(380 * MB), around);
  ASSERT_TRUE(drawn);
  // 380 + (2000 - 200 - 360 - 4 x 20) / 3
  EXPECT_EQ(limits.base_bytes({1}) / MB, 833u);
  EXPECT_THAT(drawn->note, HasSubstr("--memory-limit auto: 833.3 MB = 380 MB (a worker at READY)"));
}

TEST(Limits, AutoRefusesWhereTooLittleIsLeftButLetsARespawnIn) {
  LimitSettings settings;
  settings.base = LimitSettings::Base::automatic;
  Limits limits(settings);
  const Surroundings tight{900 * MB, 90 * MB, 360 * MB, 3};
  EXPECT_THAT(limits.on_trial(weighing(380 * MB), tight).error().message, HasSubstr("fewer workers, or more memory"));
  const DrawFrom respawn = limits.proven(weighing(380 * MB), tight);
  EXPECT_GE(respawn.range.lowest_bytes, (380 + 152) * MB);
}

TEST(Limits, ForgetsGenerationsThatAreSuperseded) {
  Limits limits(given(500 * MB));
  ASSERT_TRUE(limits.on_trial(weighing(300 * MB, 1), around));
  ASSERT_TRUE(limits.on_trial(weighing(300 * MB, 2), around));
  limits.forget_before({2});
  EXPECT_EQ(limits.base_bytes({1}), 0u);
  EXPECT_EQ(limits.base_bytes({2}), 500 * MB);
}
}  // namespace
}  // namespace moult
