#include "master/pool/reconcile.h"
#include <algorithm>
#include "master/pool/pool_parts.h"
#include "master/pool/turns.h"
namespace moult {
namespace {
using Actions = std::vector<PoolAction>;

unsigned wanted_spares(const Pool& pool) {
  switch (pool.goal.mode) {
    case Mode::serve:
    case Mode::sleep:
    case Mode::delay: return pool.goal.spares;
    case Mode::draining:
    case Mode::last:
    case Mode::quick:
    case Mode::finished: break;
  }
  return 0;
}

// While a stop drains: the one that serves to the end.
const Worker* heir(const Pool& pool, MonotonicTime now) {
  const bool kept = pool.goal.mode == Mode::draining || (pool.goal.mode == Mode::last && now < pool.goal.mode_until);
  const auto it = std::ranges::find(pool.workers, WorkerState::serving, &Worker::state);
  return kept && it != pool.workers.end() ? &*it : nullptr;
}

void end_delay(Pool& pool, const PoolPolicy& policy, MonotonicTime now) {
  if (pool.goal.mode != Mode::delay || now < pool.goal.mode_until) return;
  begin_drain(pool.goal, policy, now);
}

// Nobody wants them: slots beyond the target, and boots of a generation that was superseded.
void retire_surplus(Pool& pool, const PoolPolicy& policy, MonotonicTime now, Actions& actions) {
  const Worker* kept = heir(pool, now);
  for (Worker& w : pool.workers) {
    if (pool.goal.mode == Mode::quick) apply(w, Quit{}, policy, now, actions);
    if (!w.slot || &w == kept) continue;
    const bool superseded = w.generation != pool.goal.proven && w.generation != pool.goal.candidate;
    if (superseded || !wanted(pool, w)) apply(w, Abandon{}, policy, now, actions);
    if (!wanted(pool, w)) apply(w, Retire{pool.goal.stop_by}, policy, now, actions);
  }
}

// Parked spares are kept before those that still boot. Those of older code go when the newer has served, or, while the
// app sleeps, when it is loaded. They do not go for want of memory: what a waiting one holds is what its use saves.
void retire_spares(Pool& pool, const PoolPolicy& policy, MonotonicTime now, Actions& actions) {
  const Generation generation = spare_generation(pool);
  unsigned kept = 0;
  for (const WorkerState state : {WorkerState::spare, WorkerState::booting})
    for (Worker& w : pool.workers)
      if (!w.slot && w.state == state && (w.generation != generation || ++kept > wanted_spares(pool)))
        apply(w, Abandon{}, policy, now, actions);
}

bool waits_in_place(Pool& pool, const Turn* turn) {
  return turn && turn->stage == TurnStage::replacing && turn->order == Order::in_place && find(pool, turn->outgoing);
}

// Every wanted slot has a worker that serves or boots.
void fill(Pool& pool, const PoolPolicy& policy, MonotonicTime now, Actions& actions) {
  for (unsigned slot = 0; slot < target(pool); ++slot) {
    if (in_slot(pool, slot, WorkerState::serving) || in_slot(pool, slot, WorkerState::booting)) continue;
    const Turn* turn = turn_of(pool, slot);
    if (pool.slots[slot].retry_at > now || waits_in_place(pool, turn)) continue;
    const bool replaces = turn && turn->stage == TurnStage::replacing && launchable(pool, pool.goal.candidate);
    const Generation generation = replaces ? pool.goal.candidate : slot_generation(pool, slot);
    if (launchable(pool, generation)) launch(pool, slot, generation, policy, now, actions);
  }
}

// A spare boots when nobody boots for a slot: it takes no CPU from one that somebody waits for. And it costs headroom:
// where there is room for one (Headroom::for_one) that is left to those who serve. While nobody is wanted in a slot,
// all that they held is free.
bool may_fork_spare(const Pool& pool, MonotonicTime now) {
  if (pool.spare_boots.retry_at > now) return false;
  if (target(pool) > 0 && pool.headroom == Headroom::for_one) return false;
  return std::ranges::none_of(pool.workers, [](const Worker& w) { return w.slot && w.state == WorkerState::booting; });
}

void fill_spares(Pool& pool, const PoolPolicy& policy, MonotonicTime now, Actions& actions) {
  const Generation generation = spare_generation(pool);
  if (!forkable(pool, generation) || !may_fork_spare(pool, now)) return;
  auto has = std::ranges::count_if(pool.workers, [](const Worker& w) {
    return w.state == WorkerState::spare || (w.state == WorkerState::booting && !w.slot);
  });
  for (; has < wanted_spares(pool); ++has) fork_worker(pool, std::nullopt, generation, policy, now, actions);
}

void end_drain(Pool& pool, MonotonicTime now, Actions& actions) {
  const Worker* kept = heir(pool, now);
  if (pool.goal.mode != Mode::draining) return;
  if (pool.workers.size() > (kept ? 1u : 0u) && now < pool.goal.mode_until) return;
  pool.goal.mode = Mode::last;
  pool.goal.mode_until = now + (pool.goal.stop_by - now) / 2;
  actions.push_back(CloseListeners{kept ? kept->id : WorkerId{}});
}

void finish_stop(Pool& pool, Actions& actions) {
  if (pool.goal.mode != Mode::last && pool.goal.mode != Mode::quick) return;
  if (!pool.workers.empty()) return;
  pool.goal.mode = Mode::finished;
  actions.push_back(Finished{pool.goal.exit_code});
}
}  // namespace

void reconcile(Pool& pool, const PoolPolicy& policy, MonotonicTime now, Actions& actions) {
  end_delay(pool, policy, now);
  retire_surplus(pool, policy, now, actions);
  retire_spares(pool, policy, now, actions);
  settle_turns(pool, policy, now, actions);
  choose_turn(pool, now, actions);
  start_turn(pool, policy, now, actions);
  fill(pool, policy, now, actions);
  fill_spares(pool, policy, now, actions);
  end_drain(pool, now, actions);
  finish_stop(pool, actions);
}
}  // namespace moult
