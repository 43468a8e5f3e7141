// The limit, its runway, and the incident's settings.
#include "recycler/limit.h"

#include <gmock/gmock.h>

#include <array>
#include <cstdio>

namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
constexpr std::uint64_t MB = megabyte;

LimitPolicy incident() { return limit_policy(500 * MB); }

TEST(Limit, TheDefaultsFollowFromTheBase) {
  EXPECT_EQ(incident().spread_bytes, 25 * MB);
  EXPECT_EQ(incident().hard_limit_bytes, 650 * MB);
}

TEST(Limit, TheRunwayIsTheLargerOfFiftyMegabytesAndFortyPercentUnlessOneIsSaid) {
  LimitPolicy policy = incident();
  EXPECT_EQ(min_runway(policy, 100 * MB), 50 * MB);
  EXPECT_EQ(min_runway(policy, 125 * MB), 50 * MB);
  EXPECT_EQ(min_runway(policy, 360 * MB), 144 * MB);
  policy.min_runway_bytes = 1;
  EXPECT_EQ(min_runway(policy, 360 * MB), 1u);
}

TEST(Limit, TheIncidentsSettingsLeaveAHundredMegabytesOfRunway) {
  LimitPolicy policy = incident();
  policy.min_runway_bytes = 100 * MB;
  const auto range = limit_range(policy, 360 * MB);
  ASSERT_TRUE(range) << range.error().message;
  EXPECT_EQ(range->lowest_bytes, 460 * MB);
  EXPECT_EQ(range->highest_bytes, 540 * MB);
  EXPECT_FALSE(range->raised);
  policy.min_runway_bytes = 101 * MB;  // less than a megabyte more is the noise of weighing
  EXPECT_TRUE(limit_range(policy, 360 * MB));
  policy.min_runway_bytes = 101 * MB + 1;
  EXPECT_FALSE(limit_range(policy, 360 * MB));
}

TEST(Limit, TheIncidentsSettingsAreRefusedWithTheirFiguresAndTheSmallestBaseThatWorks) {
  LimitPolicy policy = incident();
  policy.min_runway_bytes = 150 * MB;
  const auto refused = limit_range(policy, 360 * MB);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("360 MB"), HasSubstr("460 MB"), HasSubstr("100 MB"),
                                             HasSubstr("150 MB"), HasSubstr("554.4 MB"), HasSubstr("--runway raise")));
  std::printf("%s\n", refused.error().message.c_str());

  for (const auto& [base, works] : {std::pair(554'400'000u, true), std::pair(553'200'000u, false)}) {
    LimitPolicy typed = limit_policy(base);
    typed.min_runway_bytes = 150 * MB;
    EXPECT_EQ(static_cast<bool>(limit_range(typed, 360 * MB)), works) << base;
  }
}

TEST(Limit, TheIncidentsSettingsAreRefusedByDefaultToo) { EXPECT_FALSE(limit_range(incident(), 360 * MB)); }

TEST(Limit, RaisedTheyGiveEveryWorkerItsRunway) {
  LimitPolicy policy = incident();
  policy.min_runway_bytes = 150 * MB;
  policy.runway = Runway::raise;
  const auto range = limit_range(policy, 360 * MB);
  ASSERT_TRUE(range) << range.error().message;
  EXPECT_TRUE(range->raised);
  constexpr unsigned draws = 10'000;
  std::array<unsigned, 7> histogram{};  // of 5 MB each, from 150 MB of runway
  Random random{1};
  for (unsigned i = 0; i < draws; ++i) {
    const std::uint64_t runway = draw_limit(*range, random) - 360 * MB;
    ASSERT_GE(runway, 150 * MB);
    ASSERT_LE(runway, 180 * MB);
    ++histogram.at((runway - 150 * MB) / (5 * MB));
  }
  for (std::size_t i = 0; i < histogram.size() - 1; ++i) {
    std::printf("runway %zu to %zu MB: %u\n", 150 + 5 * i, 155 + 5 * i, histogram[i]);
    EXPECT_NEAR(histogram[i], draws / 6.0, 200);
  }
}

TEST(Limit, TheSpreadKeepsDrawnLimitsApartWhenTheRunwayLiftsThem) {
  LimitPolicy policy = incident();
  policy.runway = Runway::raise;
  const auto range = limit_range(policy, 390 * MB);  // needs 156: 546 MB, above the highest by jitter
  ASSERT_TRUE(range) << range.error().message;
  EXPECT_EQ(range->lowest_bytes, 546 * MB);
  EXPECT_EQ(range->highest_bytes, 571 * MB);
}

TEST(Limit, AHardLimitThatAWorkerCouldDrawIsRefused) {
  LimitPolicy policy = incident();
  policy.hard_limit_bytes = 540 * MB + 1;
  EXPECT_TRUE(limit_range(policy, 100 * MB));
  policy.hard_limit_bytes = 540 * MB;
  const auto refused = limit_range(policy, 100 * MB);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("--hard-limit"), HasSubstr("540 MB")));
}

TEST(Limit, ARespawnIsNeverRefusedButLifted) {
  for (const std::uint64_t boot : {100 * MB, 360 * MB, 640 * MB, 2000 * MB}) {
    const LimitRange range = raised_limit_range(incident(), boot);
    EXPECT_GE(range.lowest_bytes, boot + min_runway(incident(), boot));
    EXPECT_LE(range.lowest_bytes + 25 * MB, range.highest_bytes);
    EXPECT_LT(range.highest_bytes, range.hard_bytes);
    EXPECT_EQ(range.raised, boot > 100 * MB);
  }
}

TEST(Limit, OffMeansNoLimitAtAll) {
  Random random{1};
  const auto range = limit_range(LimitPolicy{}, 360 * MB);
  ASSERT_TRUE(range);
  EXPECT_EQ(draw_limit(*range, random), no_limit);
  EXPECT_EQ(draw_limit(raised_limit_range(LimitPolicy{}, 360 * MB), random), no_limit);
}

TEST(Limit, AutoSharesOutWhatTheInstanceHas) {
  const AutoTerms terms{2000 * MB, 200 * MB, 150 * MB, 160 * MB, 10 * MB, 3};
  const auto base = auto_base(terms, LimitPolicy{});
  ASSERT_TRUE(base) << base.error().message;
  EXPECT_EQ(*base, 160 * MB + (2000 - 200 - 150 - 40) * MB / 3);
  EXPECT_EQ(describe(terms, *base),
            "696.7 MB = 160 MB (a worker at READY) + (2000 MB (limit) - 200 MB (--min-headroom) - 150 MB (fork "
            "server) - 4 x 10 MB (a worker's own at READY)) / 3 workers");
}

TEST(Limit, AutoIsRefusedWhereItWouldLeaveTooLittleRunway) {
  AutoTerms terms{582 * MB, 58 * MB, 150 * MB, 160 * MB, 10 * MB, 3};
  terms.instance_limit_bytes = (58 + 150 + 40 + 3 * 64) * MB;  // 64 MB each: 40 % of 160 MB
  EXPECT_TRUE(auto_base(terms, LimitPolicy{}));
  terms.instance_limit_bytes -= 3;
  const auto refused = auto_base(terms, LimitPolicy{});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("--memory-limit auto"), HasSubstr("fewer workers")));
  terms.instance_limit_bytes = 0;
  EXPECT_FALSE(auto_base(terms, LimitPolicy{}));
}

TEST(SettledRss, IsTheLeastOfAGeneration) {
  SettledRss settled;
  settled = settle(settled, 400 * MB);  // leaked from the start
  settled = settle(settled, 360 * MB);
  settled = settle(settled, 380 * MB);
  EXPECT_EQ(settled.bytes, 360 * MB);
}

TEST(SettledRss, IsReadAfterFiftyRequestsOrAMinute) {
  EXPECT_FALSE(has_settled(49, 60s - 1ns));
  EXPECT_TRUE(has_settled(50, 0s));
  EXPECT_TRUE(has_settled(0, 60s));
}
}  // namespace
}  // namespace moult
