#include "master/report/repeated_cause.h"

#include <gtest/gtest.h>
namespace moult {
namespace {
using namespace std::chrono_literals;

TEST(RepeatedCause, IsNewTheFirstTimeAndThenOnlyCounted) {
  RepeatedCause known;
  EXPECT_TRUE(heard(known, "ImportError: shop", MonotonicTime(1s)).is_new);
  for (std::uint64_t i = 1; i <= 12; ++i) {
    const CauseNews news = heard(known, "ImportError: shop", MonotonicTime(2s));
    EXPECT_FALSE(news.is_new);
    EXPECT_EQ(news.same_before, i);
    EXPECT_EQ(news.more_times, 0u);
  }
  EXPECT_EQ(ended(known), 12u);
  EXPECT_EQ(ended(known), 0u);
}

TEST(RepeatedCause, IsReportedWithItsCountOnceAMinute) {
  RepeatedCause known;
  (void)heard(known, "a", MonotonicTime(0s));
  EXPECT_EQ(heard(known, "a", MonotonicTime(59s)).more_times, 0u);
  EXPECT_EQ(heard(known, "a", MonotonicTime(60s)).more_times, 2u);
  EXPECT_EQ(heard(known, "a", MonotonicTime(61s)).more_times, 0u);
  EXPECT_EQ(heard(known, "a", MonotonicTime(120s)).more_times, 2u);
}

TEST(RepeatedCause, SaysTheCountOfTheFormerOneWhenItChanges) {
  RepeatedCause known;
  (void)heard(known, "a", MonotonicTime(0s));
  (void)heard(known, "a", MonotonicTime(1s));
  const CauseNews news = heard(known, "b", MonotonicTime(2s));
  EXPECT_TRUE(news.is_new);
  EXPECT_EQ(news.more_times, 1u);
}

TEST(RepeatedCause, IsTheSameThoughPidsAndAddressesDiffer) {
  RepeatedCause known;
  (void)heard(known, "<App at 0x7f3aBC01> in 4711", MonotonicTime(0s));
  EXPECT_FALSE(heard(known, "<App at 0x55d0> in 9", MonotonicTime(1s)).is_new);
  EXPECT_TRUE(heard(known, "<Bpp at 0x55d0> in 9", MonotonicTime(1s)).is_new);
}

TEST(RepeatedCause, IsNewAgainWhenNotHeardForTenMinutes) {
  RepeatedCause known;
  (void)heard(known, "a", MonotonicTime(0s));
  EXPECT_FALSE(heard(known, "a", MonotonicTime(9min)).is_new);
  EXPECT_TRUE(heard(known, "a", MonotonicTime(19min)).is_new);
}

TEST(RepeatedCause, IsNewAfterItEnded) {
  RepeatedCause known;
  (void)heard(known, "a", MonotonicTime(0s));
  (void)ended(known);
  EXPECT_TRUE(heard(known, "a", MonotonicTime(1s)).is_new);
}

TEST(RepeatedCause, CollapsesNumbersOnly) {
  EXPECT_EQ(likeness("a1b22c 0xdeadbeefg 0x"), "a#b#c #g #");
  EXPECT_EQ(likeness(""), "");
}
}  // namespace
}  // namespace moult
