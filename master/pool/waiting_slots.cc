#include "master/pool/waiting_slots.h"

#include <algorithm>

#include "master/pool/pool_parts.h"
namespace moult {
namespace {
bool has_a_worker(const Pool& pool, unsigned slot) {
  return std::ranges::any_of(pool.workers, [&](const Worker& w) {
    return w.slot == slot && (w.state == WorkerState::serving || w.state == WorkerState::booting);
  });
}

bool is_replaced_in_place(const Pool& pool, unsigned slot) {
  return std::ranges::any_of(pool.turns, [&](const Turn& turn) {
    return turn.slot == slot && turn.stage == TurnStage::replacing && turn.order == Order::in_place &&
           find(pool, turn.outgoing);
  });
}
}  // namespace

std::vector<WaitingSlot> waiting_slots(const Pool& pool, MonotonicTime now) {
  std::vector<WaitingSlot> waiting;
  for (unsigned slot = 0; slot < target(pool); ++slot) {
    if (has_a_worker(pool, slot) || is_replaced_in_place(pool, slot)) continue;
    const Slot& boots = pool.slots.at(slot);
    WaitingSlot each{slot, boots.failures, std::nullopt};
    if (launchable(pool, slot_generation(pool, slot))) each.retry_in = std::max(boots.retry_at - now, Duration::zero());
    waiting.push_back(each);
  }
  return waiting;
}
}  // namespace moult
