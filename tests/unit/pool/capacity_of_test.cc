#include "master/pool/capacity_of.h"

#include <gtest/gtest.h>
namespace moult {
namespace {
Pool pool_of(Mode mode) {
  Pool pool;
  pool.goal.mode = mode;
  pool.goal.workers = 3;
  for (std::uint64_t id = 1; id <= 3; ++id)
    pool.workers.push_back({{id}, static_cast<unsigned>(id - 1), {1}, WorkerState::serving});
  pool.workers.back().state = WorkerState::booting;
  return pool;
}

TEST(CapacityOf, CountsThoseThatServe) {
  const Capacity capacity = capacity_of(pool_of(Mode::serve));
  EXPECT_EQ(capacity.wanted, 3u);
  EXPECT_EQ(capacity.healthy, 2u);
}

TEST(CapacityOf, SaysWhetherASuccessorFitsBesideTheOldOne) {
  Pool pool = pool_of(Mode::serve);
  EXPECT_TRUE(capacity_of(pool).overlaps);
  pool.headroom = Headroom::for_one;
  EXPECT_FALSE(capacity_of(pool).overlaps);
}

TEST(CapacityOf, WhoSleepsOrStopsWantsNobody) {
  for (const Mode mode : {Mode::sleep, Mode::delay, Mode::draining, Mode::last, Mode::quick, Mode::finished})
    EXPECT_EQ(capacity_of(pool_of(mode)).wanted, 0u) << static_cast<int>(mode);
}
}  // namespace
}  // namespace moult
