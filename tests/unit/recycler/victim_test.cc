// Pressure with one and many workers, nothing to free, and recycles that freed nothing.
#include "tests/unit/recycler/recycler_test.h"

namespace moult {
namespace {
RecyclePolicy with_headroom(std::uint64_t bytes) {
  RecyclePolicy policy;
  policy.min_headroom_bytes = bytes;
  return policy;
}
const RecyclePolicy policy = with_headroom(200 * MB);

TEST(Victim, ThereIsNoneWhileHeadroomIsEnough) {
  const Footprint worker{WorkerId{1}, 500 * MB, 10 * MB};
  EXPECT_FALSE(choose_victim({200 * MB, 0}, {&worker, 1}, {}, policy, start));
  EXPECT_TRUE(choose_victim({200 * MB - 1, 0}, {&worker, 1}, {}, policy, start));
}

TEST(Victim, ThereIsNoneWithoutWorkersOrWithoutAMinimum) {
  const Footprint worker{WorkerId{1}, 500 * MB, 10 * MB};
  EXPECT_FALSE(choose_victim({0, 0}, {}, {}, policy, start));
  EXPECT_FALSE(choose_victim({0, 0}, {&worker, 1}, {}, RecyclePolicy{}, start));
}

TEST(Victim, IsTheOneWhoseReplacementFreesMost) {
  const std::array workers{Footprint{WorkerId{1}, 100 * MB, 10 * MB}, Footprint{WorkerId{2}, 160 * MB, 10 * MB},
                           Footprint{WorkerId{3}, 300 * MB, 290 * MB}};  // heavy, but so would its successor be
  const auto pressure = choose_victim({100 * MB, 0}, workers, {}, policy, start);
  ASSERT_TRUE(pressure);
  EXPECT_EQ(pressure->victim, WorkerId{2});
  EXPECT_EQ(pressure->frees_bytes, 150 * MB);
  EXPECT_EQ(pressure->needs_bytes, 100 * MB);
  EXPECT_FALSE(pressure->held);
}

TEST(Victim, MustFreeWhatIsMissing) {
  const Footprint enough{WorkerId{1}, 110 * MB, 10 * MB};
  EXPECT_FALSE(choose_victim({100 * MB, 0}, {&enough, 1}, {}, policy, start)->held);
  const Footprint little{WorkerId{1}, 110 * MB - 1, 10 * MB};
  const auto pressure = choose_victim({100 * MB, 0}, {&little, 1}, {}, policy, start);
  EXPECT_EQ(pressure->held, HoldReason::nothing_to_free);
  EXPECT_EQ(pressure->until, start + 1s);
}

TEST(Victim, MustFreeThirtyTwoMegabytesAtLeast) {
  const Footprint enough{WorkerId{1}, 42 * MB, 10 * MB};
  EXPECT_FALSE(choose_victim({199 * MB, 0}, {&enough, 1}, {}, policy, start)->held);
  const Footprint little{WorkerId{1}, 42 * MB - 1, 10 * MB};
  EXPECT_EQ(choose_victim({199 * MB, 0}, {&little, 1}, {}, policy, start)->held, HoldReason::nothing_to_free);
  const Footprint lighter_than_at_birth{WorkerId{1}, 5 * MB, 10 * MB};
  EXPECT_EQ(choose_victim({199 * MB, 0}, {&lighter_than_at_birth, 1}, {}, policy, start)->frees_bytes, 0u);
}

TEST(Victim, WaitsForWhatLeavingWorkersWillGiveBack) {
  const Footprint worker{WorkerId{1}, 500 * MB, 10 * MB};
  EXPECT_FALSE(choose_victim({100 * MB, 100 * MB}, {&worker, 1}, {}, policy, start));
  EXPECT_TRUE(choose_victim({100 * MB, 100 * MB - 1}, {&worker, 1}, {}, policy, start));
}

TEST(Victim, TwoFutileRecyclesStopThemForTenMinutes) {
  const Footprint worker{WorkerId{1}, 500 * MB, 10 * MB};
  PressureHistory history = after_pressure_recycle({}, 32 * MB - 1, 32 * MB, start);
  EXPECT_FALSE(choose_victim({100 * MB, 0}, {&worker, 1}, history, policy, start)->held);
  history = after_pressure_recycle(history, 0, 32 * MB, start);
  const auto stopped = choose_victim({100 * MB, 0}, {&worker, 1}, history, policy, start + 10min - 1ns);
  EXPECT_EQ(stopped->held, HoldReason::pressure_futile);
  EXPECT_EQ(stopped->until, start + 10min);
  EXPECT_FALSE(choose_victim({100 * MB, 0}, {&worker, 1}, history, policy, start + 10min)->held);
}

TEST(Victim, OneThatHelpedBetweenTwoFutileOnesStartsTheCountAnew) {
  PressureHistory history = after_pressure_recycle({}, 0, 32 * MB, start);
  history = after_pressure_recycle(history, 32 * MB, 32 * MB, start);
  history = after_pressure_recycle(history, 0, 32 * MB, start);
  EXPECT_EQ(history.stopped_until, MonotonicTime{});
}

TEST(Victim, WhatItFreedIsCountedWithoutWhatOurOwnTookMeanwhile) {
  const RecycleBefore before{20 * MB, 200 * MB, 10 * MB};
  EXPECT_EQ(freed_bytes(before, 120 * MB, 210 * MB), 100 * MB) << "the successor has come, nobody else grew";
  EXPECT_EQ(freed_bytes(before, 20 * MB, 310 * MB), 100 * MB) << "its siblings took it all";
  EXPECT_EQ(freed_bytes(before, 20 * MB, 210 * MB), 0u) << "somebody else took it";
  EXPECT_EQ(freed_bytes(before, 220 * MB, 110 * MB), 100 * MB) << "a sibling of 100 MB has ended as well";
  EXPECT_EQ(freed_bytes(before, 40 * MB, 290 * MB), 100 * MB) << "one of 100 MB ended, and the others took 180";
}

TEST(Victim, AfterThePauseTwoMayFailAgain) {
  PressureHistory history = after_pressure_recycle({}, 0, 32 * MB, start);
  history = after_pressure_recycle(history, 0, 32 * MB, start);
  history = after_pressure_recycle(history, 0, 32 * MB, start + 11min);
  EXPECT_EQ(history.stopped_until, start + 10min);
  history = after_pressure_recycle(history, 0, 32 * MB, start + 12min);
  EXPECT_EQ(history.stopped_until, start + 22min);
}
}  // namespace
}  // namespace moult
