#include "lease/store_clock.h"

#include <gtest/gtest.h>
namespace moult {
namespace {
using namespace std::chrono_literals;
using Time = StoreClock::Time;

TEST(StoreClock, TellsTheStoresTimeOfOurMoments) {
  const auto clock = StoreClock::told(Time(1'700'000'000s), MonotonicTime(100s));
  EXPECT_EQ(clock.at(MonotonicTime(103s)), Time(1'700'000'003s));
  EXPECT_EQ(clock.at(MonotonicTime(99s)), Time(1'699'999'999s));
}

TEST(StoreClock, RoundsToTheEarlyWhole) {
  const auto clock = StoreClock::told(Time(1000us), MonotonicTime(100us + 1ns));
  EXPECT_EQ(clock.at(MonotonicTime(101us)), Time(1000us));
  EXPECT_EQ(clock.at(MonotonicTime(101us + 999ns)), Time(1000us));
}

TEST(StoreClock, ABudgetThatNeverEndsHasAnEndThatCanBeCounted) {
  const auto clock = StoreClock::told(Time(std::chrono::hours(24 * 365 * 200)), MonotonicTime(1s));
  EXPECT_GT(clock.at(never), clock.at(MonotonicTime(std::chrono::hours(24 * 365))));
  EXPECT_EQ((StoreClock{std::chrono::microseconds::max()}.at(MonotonicTime(1s))), Time::max());
}

TEST(StoreClock, AStoreMayLiveBeforeOurTime) {
  const auto clock = StoreClock::told(Time(5s), MonotonicTime(100s));
  EXPECT_EQ(clock.at(MonotonicTime(101s)), Time(6s));
}
}  // namespace
}  // namespace moult
