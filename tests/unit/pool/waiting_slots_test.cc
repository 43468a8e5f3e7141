#include "master/pool/waiting_slots.h"

#include <gmock/gmock.h>
namespace moult {
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

bool operator==(const WaitingSlot& one, const WaitingSlot& other) {
  return one.slot == other.slot && one.failed_boots == other.failed_boots && one.retry_in == other.retry_in;
}

namespace {
constexpr MonotonicTime now{100s};
constexpr Generation code{1};

// Three slots are wanted, and the code that serves in them can be launched.
Pool pool_with(std::vector<Worker> workers) {
  Pool pool;
  pool.goal.workers = 3;
  pool.goal.proven = pool.goal.candidate = code;
  pool.slots.resize(3);
  pool.workers = std::move(workers);
  return pool;
}
Worker worker(std::uint64_t id, unsigned slot, WorkerState state) { return {WorkerId{id}, slot, code, state, now}; }

TEST(WaitingSlots, AreThoseWithoutAWorkerThatServesOrBoots) {
  Pool pool = pool_with({worker(1, 0, WorkerState::serving), worker(2, 1, WorkerState::booting)});
  pool.slots[2].failures = 3;
  pool.slots[2].retry_at = now + 4s;
  EXPECT_THAT(waiting_slots(pool, now), ElementsAre(WaitingSlot{2, 3, 4s}));
  pool.workers.push_back(worker(3, 2, WorkerState::booting));
  EXPECT_THAT(waiting_slots(pool, now), IsEmpty());
}

TEST(WaitingSlots, AreTriedAtOnceWhenTheirTimeHasCome) {
  Pool pool = pool_with({worker(1, 0, WorkerState::serving), worker(2, 1, WorkerState::serving)});
  pool.slots[2].failures = 2;
  pool.slots[2].retry_at = now - 1s;
  EXPECT_THAT(waiting_slots(pool, now), ElementsAre(WaitingSlot{2, 2, 0s}));
}

TEST(WaitingSlots, HaveNoTimeWhileThereIsNoCodeToLaunch) {
  Pool pool = pool_with({worker(1, 0, WorkerState::serving), worker(2, 1, WorkerState::serving)});
  pool.goal.lost = code;
  pool.slots[2].retry_at = now + 4s;
  EXPECT_THAT(waiting_slots(pool, now), ElementsAre(WaitingSlot{2, 0, std::nullopt}));
}

TEST(WaitingSlots, AreNoneThatNobodyWants) {
  Pool pool = pool_with({});
  EXPECT_EQ(waiting_slots(pool, now).size(), 3u);
  pool.goal.workers = 1;
  EXPECT_EQ(waiting_slots(pool, now).size(), 1u);
  pool.goal.mode = Mode::sleep;
  EXPECT_THAT(waiting_slots(pool, now), IsEmpty());
}

TEST(WaitingSlots, AreNoneWhoseOldWorkerStillRetiresToBeReplacedInPlace) {
  Pool pool = pool_with(
      {worker(1, 0, WorkerState::serving), worker(2, 1, WorkerState::serving), worker(3, 2, WorkerState::retiring)});
  EXPECT_EQ(waiting_slots(pool, now).size(), 1u);
  pool.turns.push_back({WorkerId{3}, 2, Rank::routine, TurnStage::replacing, Order::in_place, {}, now + 30s});
  EXPECT_THAT(waiting_slots(pool, now), IsEmpty());
}
}  // namespace
}  // namespace moult
