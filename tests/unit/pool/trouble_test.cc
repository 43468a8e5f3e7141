#include "master/pool/trouble.h"

#include <gtest/gtest.h>
namespace moult {
namespace {
using namespace std::chrono_literals;
constexpr MonotonicTime then{100s};

Pool serving(unsigned slot, Generation generation, MonotonicTime since) {
  Pool pool;
  pool.goal.workers = 2;
  pool.workers.push_back({WorkerId{1}, slot, generation, WorkerState::serving, since});
  return pool;
}

TEST(Trouble, StandsUntilItsSlotHasServedLongEnoughAgain) {
  const Trouble trouble{Generation{1}, 0, "crash", then};
  const Pool pool = serving(0, Generation{1}, then + 1s);
  EXPECT_FALSE(overcome(trouble, pool, 10s, then + 11s - 1ms));
  EXPECT_TRUE(overcome(trouble, pool, 10s, then + 11s));
}

TEST(Trouble, IsNotOvercomeByAnotherSlot) {
  const Trouble trouble{Generation{1}, 1, "crash", then};
  EXPECT_FALSE(overcome(trouble, serving(0, Generation{1}, then + 1s), 10s, then + 1h));
}

TEST(Trouble, OfARejectedReloadIsNotOvercomeByTheOldCode) {
  const Trouble trouble{Generation{2}, std::nullopt, "import failed", then};
  EXPECT_FALSE(overcome(trouble, serving(0, Generation{1}, then + 1s), 10s, then + 1h));
  EXPECT_TRUE(overcome(trouble, serving(0, Generation{3}, then + 1s), 10s, then + 1h));
}

TEST(Trouble, OfASpareIsOvercomeByOneThatWaitsAndWhereNoneIsKept) {
  const Trouble trouble{Generation{1}, std::nullopt, "no such table", then, true};
  Pool pool = serving(0, Generation{1}, then - 1h);
  pool.goal.spares = 1;
  EXPECT_FALSE(overcome(trouble, pool, 10s, then + 1h));
  pool.workers.push_back({WorkerId{2}, std::nullopt, Generation{1}, WorkerState::spare, then + 1s});
  EXPECT_FALSE(overcome(trouble, pool, 10s, then + 11s - 1ms));
  EXPECT_TRUE(overcome(trouble, pool, 10s, then + 11s));
  pool.workers.pop_back();
  pool.goal.spares = 0;
  EXPECT_TRUE(overcome(trouble, pool, 10s, then + 1s));
}

TEST(Trouble, OfASlotThatNobodyWantsAnyMoreIsOver) {
  EXPECT_TRUE(overcome({Generation{1}, 2, "crash", then}, serving(0, Generation{1}, then), 10s, then));
}
}  // namespace
}  // namespace moult
