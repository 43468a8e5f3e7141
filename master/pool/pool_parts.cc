#include "master/pool/pool_parts.h"
#include <algorithm>
namespace moult {
namespace {
bool spare_of(const Worker& w, Generation g) { return w.state == WorkerState::spare && w.generation == g; }
}  // namespace

unsigned target(const Pool& pool) {
  switch (pool.goal.mode) {
    case Mode::serve:
    case Mode::delay: return pool.goal.workers;
    case Mode::sleep:
    case Mode::draining:
    case Mode::last:
    case Mode::quick:
    case Mode::finished: break;
  }
  return 0;
}

bool wanted(const Pool& pool, const Worker& w) { return w.slot && *w.slot < target(pool); }

bool forkable(const Pool& pool, Generation g) { return g && g != pool.goal.lost; }

bool spare_waits(const Pool& pool, Generation g) {
  return g && std::ranges::any_of(pool.workers, [&](const Worker& w) { return spare_of(w, g); });
}

bool launchable(const Pool& pool, Generation g) { return forkable(pool, g) || spare_waits(pool, g); }

// There is something to go back to, or nothing ever was. An app that was put to sleep has served somebody before, maybe
// another master: its wakes fail, and that is all.
bool may_be_rejected(const Pool& pool) {
  return pool.goal.proven ? forkable(pool, pool.goal.proven) : !pool.goal.slept;
}

// Proven code, while it can be had. But with nobody serving (a wake after a reload) there is nothing to
// protect: the new code is tried once, and after a failed boot the proven one is back.
Generation refill_generation(const Pool& pool) {
  const Goal& goal = pool.goal;
  if (!launchable(pool, goal.proven)) return goal.candidate;
  const bool serves =
      std::ranges::any_of(pool.workers, [](const Worker& w) { return w.state == WorkerState::serving; });
  const bool try_new = !serves && goal.candidate_failures == 0 && launchable(pool, goal.candidate);
  return try_new ? goal.candidate : goal.proven;
}

bool on_trial(const Pool& pool) {
  return pool.goal.candidate != pool.goal.proven && launchable(pool, pool.goal.candidate);
}

// Where the proven code could not boot either, the two take turns: the slot is empty anyway, so the trial costs nobody
// anything, and a reload ends, or mends what no other one can, however many slots are empty.
Generation slot_generation(const Pool& pool, unsigned slot) {
  const bool proven_failed = pool.goal.proven && pool.slots.at(slot).failed == pool.goal.proven;
  return proven_failed && on_trial(pool) ? pool.goal.candidate : refill_generation(pool);
}

// As for any slot. But while the app sleeps nobody waits for it: newer code is tried again and again until it is
// rejected, so that a wake finds it started, or its fault was seen before.
Generation spare_generation(const Pool& pool) {
  const bool asleep = pool.goal.mode == Mode::sleep && launchable(pool, pool.goal.candidate);
  return asleep ? pool.goal.candidate : refill_generation(pool);
}

bool another_serves(const Pool& pool, unsigned slot) {
  return std::ranges::any_of(pool.workers, [&](const Worker& w) {
    return w.state == WorkerState::serving && wanted(pool, w) && w.slot != slot;
  });
}

// While a stop drains, its heir serves on, and while the app sleeps there will be a wake.
bool others_follow(const Pool& pool) {
  switch (pool.goal.mode) {
    case Mode::serve:
    case Mode::sleep:
    case Mode::delay:
    case Mode::draining: return true;
    case Mode::last:
    case Mode::quick:
    case Mode::finished: break;
  }
  return false;
}

void begin_drain(Goal& goal, const PoolPolicy& policy, MonotonicTime now) {
  goal.mode = Mode::draining;
  goal.stop_by = now + policy.timeouts.graceful;
  goal.mode_until = now + policy.timeouts.graceful / 2;
}

bool announces_close(const Pool& pool) {
  switch (pool.goal.mode) {
    case Mode::delay:
    case Mode::draining:
    case Mode::last: return true;
    case Mode::serve:
    case Mode::sleep:
    case Mode::quick:
    case Mode::finished: break;
  }
  return false;
}

Rank recycle_rank(const Worker& w) {
  const auto* recycle = std::get_if<Recycle>(&w.decision);
  if (!recycle) return Rank::none;
  switch (recycle->urgency) {
    case Urgency::routine: return Rank::routine;
    case Urgency::hard_limit: return Rank::hard_limit;
    case Urgency::pressure: break;
  }
  return Rank::pressure;
}

Worker* find(Pool& pool, WorkerId id) {
  const auto it = std::ranges::find(pool.workers, id, &Worker::id);
  return it == pool.workers.end() ? nullptr : &*it;
}

const Worker* find(const Pool& pool, WorkerId id) {
  const auto it = std::ranges::find(pool.workers, id, &Worker::id);
  return it == pool.workers.end() ? nullptr : &*it;
}

Worker* in_slot(Pool& pool, unsigned slot, WorkerState state, WorkerId except) {
  const auto it = std::ranges::find_if(
      pool.workers, [&](const Worker& w) { return w.slot == slot && w.state == state && w.id != except; });
  return it == pool.workers.end() ? nullptr : &*it;
}

Turn* turn_of(Pool& pool, unsigned slot) {
  const auto it = std::ranges::find(pool.turns, slot, &Turn::slot);
  return it == pool.turns.end() ? nullptr : &*it;
}

void apply(Worker& worker, const WorkerEvent& event, const PoolPolicy& policy, MonotonicTime now,
           std::vector<PoolAction>& actions) {
  auto step = transition(std::move(worker), event, policy.timeouts, now);
  worker = std::move(step.state);
  for (const WorkerAction& action : step.actions) std::visit([&](const auto& a) { actions.push_back(a); }, action);
}

void fork_worker(Pool& pool, std::optional<unsigned> slot, Generation g, const PoolPolicy& policy, MonotonicTime now,
                 std::vector<PoolAction>& actions) {
  const WorkerId id{++pool.last_id};
  pool.workers.push_back(boot(id, slot, g, policy.timeouts, now));
  actions.push_back(Spawn{id, slot, g});
}

void launch(Pool& pool, unsigned slot, Generation g, const PoolPolicy& policy, MonotonicTime now,
            std::vector<PoolAction>& actions) {
  const auto spare = std::ranges::find_if(pool.workers, [&](const Worker& w) { return spare_of(w, g); });
  if (spare == pool.workers.end()) return fork_worker(pool, slot, g, policy, now, actions);
  if (now - spare->since >= policy.stable_after) pool.spare_boots = {};
  apply(*spare, Assign{slot}, policy, now, actions);
}
}  // namespace moult
