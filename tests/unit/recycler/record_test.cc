// What is drawn at READY, what readings leave behind, and when the next look is.
#include "tests/unit/recycler/recycler_test.h"

namespace moult {
namespace {
const RecyclePolicy defaults;

TEST(Record, DrawsItsOwnLimitsFromTheRangesAtReady) {
  RecyclePolicy policy;
  policy.max_requests = 1000;
  policy.max_requests_jitter = 50;
  policy.max_lifetime = 1h;
  policy.max_lifetime_jitter = 10min;
  Random random{1};
  std::uint64_t fewest = no_limit, most = 0;
  for (int i = 0; i < 2000; ++i) {
    const WorkerRecord record =
        make_record(WorkerId{1}, 50 * MB, {90 * MB, 110 * MB, 130 * MB, false}, policy, random, start);
    ASSERT_GE(record.limit_bytes, 90 * MB);
    ASSERT_LE(record.limit_bytes, 110 * MB);
    ASSERT_EQ(record.hard_limit_bytes, 130 * MB);
    ASSERT_GE(record.lifetime_end, start + 1h);
    ASSERT_LE(record.lifetime_end, start + 70min);
    fewest = std::min(fewest, record.request_limit);
    most = std::max(most, record.request_limit);
  }
  EXPECT_EQ(fewest, 1000u);
  EXPECT_EQ(most, 1050u);
}

TEST(Record, WhatIsOffIsNeverReached) {
  Random random{1};
  const WorkerRecord record = make_record(WorkerId{1}, 50 * MB, {}, defaults, random, start);
  EXPECT_EQ(record.limit_bytes, no_limit);
  EXPECT_EQ(record.request_limit, no_limit);
  EXPECT_EQ(record.lifetime_end, never);
}

TEST(Record, RemembersSinceWhenItIsOverAndForgetsWhenItIsNotAnyMore) {
  WorkerRecord record = observe(worker_at(50 * MB), statm(100 * MB), defaults, start + 1s);
  record = observe(record, statm(130 * MB), defaults, start + 2s);
  record = observe(record, statm(140 * MB), defaults, start + 3s);
  EXPECT_EQ(record.over_limit_since, start + 1s);
  EXPECT_EQ(record.over_hard_since, start + 2s);
  record = observe(record, statm(130 * MB - 1), defaults, start + 4s);
  EXPECT_EQ(record.over_limit_since, start + 1s);
  EXPECT_EQ(record.over_hard_since, never);
  record = observe(record, statm(100 * MB - 1), defaults, start + 5s);
  EXPECT_EQ(record.over_limit_since, never);
}

TEST(Record, AddsUpHowLongItHasBeenOverItsHardLimitAlsoWhenItFallsBelowInBetween) {
  WorkerRecord record = observe(worker_at(50 * MB), statm(129 * MB), defaults, start + 1s);
  EXPECT_EQ(over_hard_so_far(record, start + 2s), 0s);
  record = observe(record, statm(130 * MB), defaults, start + 2s);
  EXPECT_EQ(over_hard_so_far(record, start + 5s), 3s);
  record = observe(record, statm(129 * MB), defaults, start + 6s);
  record = observe(record, statm(129 * MB), defaults, start + 8s);
  EXPECT_EQ(over_hard_so_far(record, start + 9s), 4s);
  record = observe(record, statm(131 * MB), defaults, start + 10s);
  EXPECT_EQ(over_hard_so_far(record, start + 11s), 5s);
}

TEST(Record, BelievesInALeakAtOnceAndInItsEndAfterSomeSeconds) {
  WorkerRecord record = observe(worker_at(50 * MB), statm(50 * MB), defaults, start + 1s);
  EXPECT_DOUBLE_EQ(record.growth_bytes_per_second, 0);
  record = observe(record, statm(70 * MB), defaults, start + 2s);
  EXPECT_DOUBLE_EQ(record.growth_bytes_per_second, 20.0 * MB);
  record = observe(record, statm(70 * MB), defaults, start + 3s);
  EXPECT_LT(record.growth_bytes_per_second, 20.0 * MB);
  EXPECT_GT(record.growth_bytes_per_second, 10.0 * MB);
  for (int i = 4; i < 60; ++i) record = observe(record, statm(70 * MB), defaults, start + i * 1s);
  EXPECT_LT(record.growth_bytes_per_second, 0.01 * MB);
}

TEST(Record, MemoryThatIsGivenBackIsNoGrowth) {
  const WorkerRecord record = observe(worker_at(90 * MB), statm(50 * MB), defaults, start + 1s);
  EXPECT_DOUBLE_EQ(record.growth_bytes_per_second, 0);
}

TEST(Record, TwoReadingsInOneInstantSayNothingAboutGrowth) {
  const WorkerRecord record = observe(worker_at(50 * MB), statm(90 * MB), defaults, start);
  EXPECT_DOUBLE_EQ(record.growth_bytes_per_second, 0);
}

Duration look_after(std::uint64_t rss_bytes, double megabytes_per_second) {
  WorkerRecord record = worker_at(rss_bytes);
  record.growth_bytes_per_second = megabytes_per_second * MB;
  return next_look(record, defaults, start) - start;
}

TEST(Sampling, IsFarWhereNothingGrows) { EXPECT_EQ(look_after(50 * MB, 0), Duration(1s)); }

TEST(Sampling, IsAQuarterOfTheTimeToTheLimitWithinNearAndFar) {
  EXPECT_EQ(look_after(50 * MB, 25), Duration(500ms));
  EXPECT_EQ(look_after(50 * MB, 12.5), Duration(1s));
  EXPECT_EQ(look_after(50 * MB, 12.4), Duration(1s));
  EXPECT_EQ(look_after(50 * MB, 125), Duration(100ms));
  EXPECT_EQ(look_after(50 * MB, 1e9), Duration(100ms));
}

TEST(Sampling, IsNearWithinATenthOfTheLimitAndOverIt) {
  EXPECT_EQ(look_after(90 * MB - 1, 0), Duration(1s));
  EXPECT_EQ(look_after(90 * MB, 0), Duration(100ms));
  EXPECT_EQ(look_after(200 * MB, 0), Duration(100ms));
}

TEST(Sampling, IsFarWithoutALimit) {
  WorkerRecord record = worker_at(50 * MB);
  record.limit_bytes = record.hard_limit_bytes = no_limit;
  record.growth_bytes_per_second = 1e12;
  EXPECT_EQ(next_look(record, defaults, start), start + 1s);
}

TEST(Sampling, IsNeverLaterThanTheLifetimesEnd) {
  WorkerRecord record = worker_at(50 * MB);
  record.lifetime_end = start + 300ms;
  EXPECT_EQ(next_look(record, defaults, start), start + 300ms);
  EXPECT_EQ(next_look(record, defaults, start + 300ms), start + 1300ms);
}

TEST(Sampling, AsksForAPreciseLookToConfirmTheFirstReadingOver) {
  WorkerRecord record = observe(worker_at(50 * MB), statm(100 * MB - 1), defaults, start + 1s);
  EXPECT_FALSE(next_look_is_precise(record, defaults));
  record = observe(record, statm(100 * MB), defaults, start + 2s);
  EXPECT_TRUE(next_look_is_precise(record, defaults));
  record = observe(record, smaps(100 * MB), defaults, start + 3s);
  EXPECT_FALSE(next_look_is_precise(record, defaults));
}
}  // namespace
}  // namespace moult
