#include "master/pool/held_back.h"

#include <algorithm>

#include "master/pool/pool_parts.h"
namespace moult {
namespace {
HoldReason reason(Refusal refusal) {
  switch (refusal) {
    case Refusal::lease_held:
    case Refusal::late: return HoldReason::lease_held;  // late: another question follows
    case Refusal::no_tokens: return HoldReason::no_tokens;
    case Refusal::below_minimum: return HoldReason::below_minimum;
    case Refusal::store_unreachable: break;
  }
  return HoldReason::store_unreachable;
}

// The last moment at which a slot whose boot failed is tried again.
std::optional<MonotonicTime> boots_fail_until(const Pool& pool, const Worker& worker, MonotonicTime now) {
  MonotonicTime until = pool.slots[*worker.slot].retry_at;
  if (recycle_rank(worker) == Rank::routine)
    for (unsigned slot = 0; slot < target(pool); ++slot) until = std::max(until, pool.slots[slot].retry_at);
  if (until > now) return until;
  return launchable(pool, pool.goal.candidate) ? std::nullopt : std::optional(never);
}

MonotonicTime end_of_turns(const Pool& pool) {
  MonotonicTime end{};
  const auto consider = [&](MonotonicTime deadline) {
    if (deadline != never) end = std::max(end, deadline);
  };
  for (const Turn& turn : pool.turns) consider(turn.deadline);
  for (const Worker& each : pool.workers) consider(each.deadline);
  return end == MonotonicTime{} ? never : end;
}

bool is_to_go(const Pool& pool, const Worker& worker) {
  return recycle_rank(worker) != Rank::none && pool.goal.mode == Mode::serve && worker.state == WorkerState::serving &&
         wanted(pool, worker);
}

std::vector<Turn>::const_iterator asked_about(const Pool& pool, const Worker& worker) {
  return std::ranges::find_if(pool.turns, [&](const Turn& turn) {
    return turn.stage == TurnStage::asking && turn.rank >= recycle_rank(worker);
  });
}

std::optional<HeldBack> held_back_by_gate(const Turn& asking) {
  if (!asking.waits_for) return std::nullopt;
  return HeldBack{reason(asking.waits_for->why), asking.waits_for->until};
}

std::optional<HeldBack> held_back_in(const Pool& pool, const Turn& own) {
  switch (own.stage) {
    case TurnStage::asking: return held_back_by_gate(own);
    case TurnStage::replacing: break;
    case TurnStage::granted: return HeldBack{HoldReason::turn_in_hand, end_of_turns(pool)};  // two retire already
    case TurnStage::recovering: return HeldBack{HoldReason::boot_failing, own.deadline};
  }
  return std::nullopt;
}
}  // namespace

bool gate_is_asked(const Pool& pool, const Worker& worker) {
  return is_to_go(pool, worker) && asked_about(pool, worker) != pool.turns.end();
}

bool is_of_the_gate(HoldReason why) {
  switch (why) {
    case HoldReason::lease_held:
    case HoldReason::no_tokens:
    case HoldReason::below_minimum:
    case HoldReason::store_unreachable: return true;
    case HoldReason::second_reading:
    case HoldReason::cooldown:
    case HoldReason::busy:
    case HoldReason::nothing_to_free:
    case HoldReason::pressure_futile:
    case HoldReason::turn_in_hand:
    case HoldReason::boot_failing: break;
  }
  return false;
}

std::optional<HeldBack> held_back(const Pool& pool, const Worker& worker, MonotonicTime now) {
  if (!is_to_go(pool, worker)) return std::nullopt;
  const auto own = std::ranges::find(pool.turns, *worker.slot, &Turn::slot);
  if (own != pool.turns.end()) return held_back_in(pool, *own);
  if (recycle_rank(worker) <= pool.refused.rank && now < pool.refused.retry_at)
    return HeldBack{reason(pool.refused.why), pool.refused.retry_at};
  if (const auto until = boots_fail_until(pool, worker, now)) return HeldBack{HoldReason::boot_failing, *until};
  if (const auto asking = asked_about(pool, worker); asking != pool.turns.end()) return held_back_by_gate(*asking);
  return HeldBack{HoldReason::turn_in_hand, end_of_turns(pool)};
}
}  // namespace moult
