#include "master/pool/turns.h"
#include <algorithm>
#include "master/pool/pool_parts.h"
namespace moult {
namespace {
using Actions = std::vector<PoolAction>;

bool stale(const Pool& pool, const Worker& w) { return w.generation < pool.goal.candidate; }

Rank rank(const Pool& pool, const Worker& w) {
  return std::max(stale(pool, w) ? Rank::deploy : Rank::none, recycle_rank(w));
}

std::optional<Urgency> question(Rank rank) {  // none: it needs no gate
  switch (rank) {
    case Rank::none:
    case Rank::deploy: break;
    case Rank::routine: return Urgency::routine;
    case Rank::hard_limit: return Urgency::hard_limit;
    case Rank::pressure: return Urgency::pressure;
  }
  return std::nullopt;
}

bool urgent(Rank rank) { return rank >= Rank::hard_limit; }

bool leaving(const Worker& w) {
  switch (w.state) {
    case WorkerState::booting:
    case WorkerState::spare:
    case WorkerState::serving: return false;
    case WorkerState::retiring:
    case WorkerState::terminating:
    case WorkerState::aborting:
    case WorkerState::killed: break;
  }
  return true;
}

bool another_may_retire(const Pool& pool) {
  return std::ranges::count_if(pool.workers, [&](const Worker& w) {
           return w.state == WorkerState::retiring && wanted(pool, w);
         }) < most_retiring;
}

void release_gate(Turn& turn, Actions& actions) {
  if (turn.ask) actions.push_back(ReleaseGate{turn.ask});
  turn.ask = {};
}

// The successor is on its way, or serves already: may the outgoing one be told to go?
bool replaced(Pool& pool, Turn& turn, const PoolPolicy& policy, MonotonicTime now, Actions& actions) {
  Worker* outgoing = find(pool, turn.outgoing);
  const bool successor = in_slot(pool, turn.slot, WorkerState::serving, turn.outgoing);
  if (successor) {
    release_gate(turn, actions);
    turn.deadline = never;  // all that is missing is a free place among those that retire
  }
  if (!outgoing || outgoing->state != WorkerState::serving) return successor;
  if (!successor && !in_slot(pool, turn.slot, WorkerState::booting)) return true;  // superseded mid-boot
  const bool became_urgent = urgent(rank(pool, *outgoing)) && another_serves(pool, turn.slot);
  if (!(successor || became_urgent) || !another_may_retire(pool)) return false;
  apply(*outgoing, Retire{}, policy, now, actions);
  return successor;
}

bool over(Pool& pool, Turn& turn, const PoolPolicy& policy, MonotonicTime now, Actions& actions) {
  if (turn.slot >= target(pool) || now >= turn.deadline) return true;
  switch (turn.stage) {
    case TurnStage::asking:
    case TurnStage::granted: {
      const Worker* outgoing = find(pool, turn.outgoing);
      // What the gate was asked for is a recycle: that its worker has old code as well does not keep it.
      const auto now_is = [&] { return turn.rank == Rank::deploy ? rank(pool, *outgoing) : recycle_rank(*outgoing); };
      const bool moot = !outgoing || outgoing->state != WorkerState::serving || now_is() < turn.rank;
      return moot || pool.goal.mode != Mode::serve || !launchable(pool, pool.goal.candidate);
    }
    case TurnStage::replacing: return replaced(pool, turn, policy, now, actions);
    case TurnStage::recovering: return in_slot(pool, turn.slot, WorkerState::serving);
  }
  return true;
}

// A routine turn begins in peace: no turn in hand, nobody leaves, replacements boot.
bool at_peace(const Pool& pool, MonotonicTime now) {
  const bool busy = std::ranges::any_of(pool.turns, [](const Turn& t) { return t.stage != TurnStage::asking; });
  const bool drains = std::ranges::any_of(pool.workers, [&](const Worker& w) { return leaving(w) && wanted(pool, w); });
  const bool fails = std::any_of(pool.slots.begin(), pool.slots.begin() + target(pool),
                                 [&](const Backoff& b) { return b.retry_at > now; });
  return !busy && !drains && !fails;
}

// The rank with which this worker's turn may begin now.
Rank ripe(Pool& pool, const Worker& w, bool peace, MonotonicTime now) {
  if (w.state != WorkerState::serving || !wanted(pool, w) || pool.slots[*w.slot].retry_at > now) return Rank::none;
  const Turn* own = turn_of(pool, *w.slot);
  if (own && own->stage != TurnStage::asking) return Rank::none;
  Rank best = rank(pool, w);
  const bool gate_closed = question(best) && best <= pool.refused.rank && now < pool.refused.retry_at;
  if (gate_closed) best = stale(pool, w) ? Rank::deploy : Rank::none;
  if (best == Rank::none) return best;
  const bool may_begin = urgent(best) ? another_may_retire(pool) : peace;
  return may_begin ? best : Rank::none;
}

Order order(const Pool& pool, const Turn& turn) {
  if (!another_serves(pool, turn.slot)) return Order::successor_first;  // the last one, whatever the headroom
  // A spare holds already what a successor would need.
  if (pool.headroom == Headroom::for_one && !spare_waits(pool, pool.goal.candidate)) return Order::in_place;
  return urgent(turn.rank) ? Order::together : Order::successor_first;
}

// All were judged before this one's cooldown began: the watch must judge again.
void begin_recycle(Pool& pool, const Turn& turn, Actions& actions) {
  const Decision& decision = find(pool, turn.outgoing)->decision;
  actions.push_back(BeginRecycle{turn.outgoing, turn.ask, turn.order, std::get<Recycle>(decision)});
  for (Worker& w : pool.workers) w.decision = Keep{};
}
}  // namespace

void settle_turns(Pool& pool, const PoolPolicy& policy, MonotonicTime now, Actions& actions) {
  std::erase_if(pool.turns, [&](Turn& turn) {
    if (!over(pool, turn, policy, now, actions)) return false;
    release_gate(turn, actions);
    return true;
  });
}

// The most urgent one; a turn that still asks gives way to a more urgent one.
void choose_turn(Pool& pool, MonotonicTime now, Actions& actions) {
  if (pool.goal.mode != Mode::serve || !launchable(pool, pool.goal.candidate)) return;
  if (std::ranges::find(pool.turns, TurnStage::granted, &Turn::stage) != pool.turns.end()) return;
  const bool peace = at_peace(pool, now);
  const Worker* chosen = nullptr;
  Rank best = Rank::none;
  for (const Worker& w : pool.workers)
    if (const Rank each = ripe(pool, w, peace, now); each > best) {
      chosen = &w;
      best = each;
    }
  if (!chosen) return;
  if (const auto asking = std::ranges::find(pool.turns, TurnStage::asking, &Turn::stage); asking != pool.turns.end()) {
    if (best <= asking->rank) return;
    release_gate(*asking, actions);
    pool.turns.erase(asking);
  }
  Turn turn{chosen->id, *chosen->slot, best, TurnStage::granted, Order::successor_first, {}, never};
  if (const auto urgency = question(best)) {
    turn.stage = TurnStage::asking;
    turn.ask = AskId{++pool.last_id};
    actions.push_back(AskGate{turn.ask, *urgency});
  }
  pool.turns.push_back(turn);
}

void start_turn(Pool& pool, const PoolPolicy& policy, MonotonicTime now, Actions& actions) {
  const auto turn = std::ranges::find(pool.turns, TurnStage::granted, &Turn::stage);
  if (turn == pool.turns.end()) return;
  turn->order = order(pool, *turn);
  if (turn->order != Order::successor_first && !another_may_retire(pool)) return;
  turn->stage = TurnStage::replacing;
  turn->deadline = now + policy.timeouts.boot;
  if (turn->rank != Rank::deploy) begin_recycle(pool, *turn, actions);
  switch (turn->order) {
    case Order::successor_first: return launch(pool, turn->slot, pool.goal.candidate, policy, now, actions);
    case Order::together:
      apply(*find(pool, turn->outgoing), Retire{}, policy, now, actions);
      return launch(pool, turn->slot, pool.goal.candidate, policy, now, actions);
    case Order::in_place:
      turn->deadline += policy.timeouts.graceful + policy.timeouts.kill_after;
      return apply(*find(pool, turn->outgoing), Retire{}, policy, now, actions);
  }
}
}  // namespace moult
