#include "master/pool/pool.h"
#include <algorithm>
#include "master/pool/pool_parts.h"
#include "master/pool/reconcile.h"
namespace moult {
namespace {
using Actions = std::vector<PoolAction>;
enum class Blame { code, machine };  // for a boot that failed

Backoff& backoff_of(Pool& pool, const Worker& w) { return w.slot ? pool.slots.at(*w.slot) : pool.spare_boots; }

// Asked for once more: whoever still lives is killed now.
void stop_at_once(Pool& pool, MonotonicTime now) {
  for (Worker& w : pool.workers)
    if (w.deadline != never) w.deadline = now;
}

void stop_quickly(Goal& goal) {
  if (goal.mode == Mode::finished) return;
  goal.mode = Mode::quick;
  goal.mode_until = never;
}

void stop(Goal& goal, const PoolPolicy& policy, MonotonicTime now) {
  switch (goal.mode) {
    case Mode::serve:
      goal.mode = Mode::delay;
      goal.mode_until = now + policy.stop_delay;
      return;
    case Mode::sleep: return begin_drain(goal, policy, now);
    case Mode::delay:
    case Mode::draining:
    case Mode::last:
    case Mode::quick:
    case Mode::finished: return;
  }
}

// A wake tries at once: how soon another one is tried after it, whoever wakes it knows.
void set_mode(Pool& pool, Mode mode) {
  Goal& goal = pool.goal;
  if (goal.mode != Mode::serve && goal.mode != Mode::sleep) return;
  if (goal.mode == Mode::sleep && mode == Mode::serve) std::ranges::fill(pool.slots, Slot{});
  goal.mode = mode;
  goal.slept = goal.slept || mode == Mode::sleep;
}

// What failed was other code: an empty slot tries the new one at once, and so does a spare.
void on_loaded(Pool& pool, Generation loaded) {
  Goal& goal = pool.goal;
  if (loaded <= goal.candidate || loaded <= goal.proven) return;
  goal.candidate = loaded;
  goal.candidate_failures = 0;
  pool.spare_boots = {};
  for (unsigned slot = 0; slot < pool.slots.size(); ++slot)
    if (!in_slot(pool, slot, WorkerState::serving) && !in_slot(pool, slot, WorkerState::booting)) pool.slots[slot] = {};
}

void on_lost(Goal& goal, Generation lost) {
  if (lost == goal.proven) goal.lost = lost;
  else if (lost == goal.candidate) goal.candidate = goal.proven;
}

void reject_candidate(Goal& goal, Actions& actions) {
  actions.push_back(GenerationRejected{goal.candidate});
  goal.candidate = goal.proven;
  if (goal.proven) return;
  stop_quickly(goal);
  goal.exit_code = 3;
}

// A candidate that cannot boot is rejected when there is something to go back to, or nothing ever was.
void count_against_candidate(Pool& pool, Generation generation, const PoolPolicy& policy, Actions& actions) {
  Goal& goal = pool.goal;
  if (generation != goal.candidate || goal.candidate == goal.proven) return;
  if (++goal.candidate_failures < policy.boot_attempts) return;
  if (may_be_rejected(pool)) reject_candidate(goal, actions);
}

// Where there is nothing to go back to nobody is asked (Supervisor::trial).
void on_refused(Pool& pool, Generation refused, Actions& actions) {
  Goal& goal = pool.goal;
  if (refused != goal.candidate || goal.candidate == goal.proven) return;
  if (may_be_rejected(pool)) reject_candidate(goal, actions);
}

// To the end of a reload what failed last in an empty slot decides what is tried next there. After the proven code that
// is other code: at once.
void count_against_slot(Pool& pool, const Worker& w, const PoolPolicy& policy, MonotonicTime now) {
  Slot& slot = pool.slots.at(*w.slot);
  slot.failed = w.generation;
  const bool other_code_next = w.generation == pool.goal.proven && on_trial(pool);
  if (other_code_next) slot.retry_at = now;
  else static_cast<Backoff&>(slot) = failed(slot, policy.backoff, now, pool.random);
}

bool anybody_lives(const Pool& pool) {
  return std::ranges::any_of(
      pool.workers, [](const Worker& w) { return w.state == WorkerState::booting || w.state == WorkerState::serving; });
}

void on_boot_failed(Pool& pool, const Worker& w, Blame blame, const PoolPolicy& policy, MonotonicTime now,
                    Actions& actions) {
  const bool old_one_serves = w.slot && in_slot(pool, *w.slot, WorkerState::serving);
  Backoff& boots = backoff_of(pool, w);
  if (old_one_serves) boots = failed_unhurried(boots, policy.backoff, now, pool.random);
  else if (w.slot && blame == Blame::code) count_against_slot(pool, w, policy, now);
  else boots = failed(boots, policy.backoff, now, pool.random);
  Turn* turn = w.slot ? turn_of(pool, *w.slot) : nullptr;
  if (turn && turn->stage == TurnStage::replacing) turn->stage = TurnStage::recovering;
  // With fewer workers the code may serve well. Where not even one can live, there is no room for it at all.
  if (blame == Blame::machine && anybody_lives(pool)) return;
  count_against_candidate(pool, w.generation, policy, actions);
}

void on_gone(Pool& pool, const WorkerGone& gone, const PoolPolicy& policy, MonotonicTime now, Actions& actions) {
  const WorkerId id = gone.id;
  const Worker* found = find(pool, id);
  if (!found) return;
  const Worker w = *found;
  std::erase_if(pool.workers, [&](const Worker& each) { return each.id == id; });
  switch (w.state) {
    case WorkerState::booting:
      return on_boot_failed(pool, w, gone.for_want_of_room ? Blame::machine : Blame::code, policy, now, actions);
    case WorkerState::spare:
    case WorkerState::serving: {
      Backoff& boots = backoff_of(pool, w);
      boots = now - w.since >= policy.stable_after ? Backoff{} : failed(boots, policy.backoff, now, pool.random);
      return;
    }
    case WorkerState::retiring:
    case WorkerState::terminating:
    case WorkerState::aborting:
    case WorkerState::killed: return;
  }
}

// Before any event: what comes in the instant of a deadline, or after it, comes too late.
void on_time(Pool& pool, const PoolPolicy& policy, MonotonicTime now, Actions& actions) {
  for (Worker& w : pool.workers) {
    const bool booted_in_vain = w.state == WorkerState::booting && now >= w.deadline;
    apply(w, TimePassed{}, policy, now, actions);
    if (booted_in_vain) on_boot_failed(pool, w, Blame::code, policy, now, actions);
  }
}

void on_ready(Pool& pool, WorkerId id, const PoolPolicy& policy, MonotonicTime now, Actions& actions) {
  Worker* w = find(pool, id);
  if (!w || w->state != WorkerState::booting || !w->slot) return;
  apply(*w, Ready{}, policy, now, actions);
  pool.slots.at(*w->slot).failed = {};
  if (w->generation != pool.goal.candidate || pool.goal.candidate == pool.goal.proven) return;
  pool.goal.proven = pool.goal.candidate;
  actions.push_back(GenerationProven{pool.goal.proven});
}

void on_answer(Pool& pool, const GateAnswered& event, const PoolPolicy& policy, MonotonicTime now) {
  const auto turn = std::ranges::find(pool.turns, event.ask, &Turn::ask);
  if (turn == pool.turns.end() || turn->stage != TurnStage::asking) return;
  if (const auto* refused = std::get_if<Refused>(&event.answer)) {
    pool.refused = {turn->rank, now + refused->retry_after, refused->why};
    pool.turns.erase(turn);
    return;
  }
  turn->stage = TurnStage::granted;
  turn->deadline = now + policy.timeouts.boot;
}

void on_wait(Pool& pool, const GateWaits& event) {
  const auto turn = std::ranges::find(pool.turns, event.ask, &Turn::ask);
  if (turn != pool.turns.end() && turn->stage == TurnStage::asking) turn->waits_for = event.waits_for;
}

void absorb(Pool& pool, const PoolEvent& event, const PoolPolicy& policy, MonotonicTime now, Actions& actions) {
  Goal& goal = pool.goal;
  std::visit(Match{
                 [&](const ScaleTo& e) {
                   goal.workers = e.workers;
                   if (pool.slots.size() < e.workers) pool.slots.resize(e.workers);
                 },
                 [&](const SetSpares& e) { goal.spares = e.spares; },
                 [&](const SetMode& e) { set_mode(pool, e.mode); },
                 [&](Stop) { stop(goal, policy, now); },
                 [&](StopQuickly) {
                   if (goal.mode == Mode::quick) stop_at_once(pool, now);
                   stop_quickly(goal);
                 },
                 [&](ListenersClosed) {
                   if (goal.mode == Mode::last) goal.mode_until = now;
                 },
                 [&](const GenerationLoaded& e) { on_loaded(pool, e.generation); },
                 [&](const GenerationLost& e) { on_lost(goal, e.generation); },
                 [&](const GenerationRefused& e) { on_refused(pool, e.generation, actions); },
                 [&](const HeadroomChanged& e) { pool.headroom = e.headroom; },
                 [&](const WorkerParked& e) {
                   if (Worker* w = find(pool, e.id)) apply(*w, Park{}, policy, now, actions);
                 },
                 [&](const WorkerReady& e) { on_ready(pool, e.id, policy, now, actions); },
                 [&](const WorkerHung& e) {
                   if (Worker* w = find(pool, e.id)) apply(*w, Hang{}, policy, now, actions);
                 },
                 [&](const WorkerGone& e) { on_gone(pool, e, policy, now, actions); },
                 [&](const Judged& e) {
                   for (const Verdict& each : e.verdicts)
                     if (Worker* w = find(pool, each.worker)) w->decision = each.decision;
                 },
                 [&](const GateAnswered& e) { on_answer(pool, e, policy, now); },
                 [&](const GateWaits& e) { on_wait(pool, e); },
                 [&](TimePassed) {},
             },
             event);
}
}  // namespace

Step<Pool, PoolAction> transition(Pool pool, const PoolEvent& event, const PoolPolicy& policy, MonotonicTime now) {
  Actions actions;
  if (pool.goal.mode != Mode::finished) {
    on_time(pool, policy, now, actions);
    absorb(pool, event, policy, now, actions);
    reconcile(pool, policy, now, actions);
  }
  return {std::move(pool), std::move(actions)};
}

MonotonicTime next_deadline(const Pool& pool, MonotonicTime now) {
  MonotonicTime at = never;
  const auto consider = [&](MonotonicTime each) {
    if (each > now) at = std::min(at, each);
  };
  for (const Worker& w : pool.workers) at = std::min(at, w.deadline);
  for (const Turn& turn : pool.turns) consider(turn.deadline);
  for (const Backoff& slot : pool.slots) consider(slot.retry_at);
  consider(pool.spare_boots.retry_at);
  consider(pool.refused.retry_at);
  consider(pool.goal.mode_until);
  return at;
}
}  // namespace moult
