#include "tests/unit/pool/pool_invariants.h"
#include "tests/unit/pool/pool_look.h"
namespace moult {
using namespace look;

void PoolInvariants::turns(const Step& s) const {
  unsigned open = 0;
  for (const Turn& t : s.after.turns) {
    if (turn_in(s.after, t.slot) != &t) fail("two turns in one slot");
    if (t.slot >= target(s.after)) fail("a turn for a slot that nobody wants");
    open += t.stage == TurnStage::asking || t.stage == TurnStage::granted;
    if (t.stage == TurnStage::granted && retiring(s.after) < 2) fail("a granted turn waits");
    const Worker* outgoing = find(s.after, t.outgoing);
    const bool old_serves = outgoing && outgoing->state == WorkerState::serving;
    const bool served = in_slot(s.after, t.slot, WorkerState::serving) > (old_serves ? 1 : 0);
    if (t.stage == TurnStage::replacing && served && !(old_serves && retiring(s.after) >= 2))
      fail("the slot serves, the turn goes on");
    if (t.stage == TurnStage::recovering && (served || old_serves)) fail("recovered, the turn goes on");
    if (t.ask && t.stage == TurnStage::replacing && served) fail("the slot serves, the lease is held");
  }
  if (open > 1) fail("two questions at the gate");
}

// A routine turn begins when no turn is in hand, nobody drains and replacements boot.
void PoolInvariants::routine_begins_in_peace(const Step& s) const {
  for (const Turn& t : s.after.turns) {
    const Turn* same = turn_against(s.before, t.outgoing);
    if (urgent(t.rank) || (same && same->rank == t.rank)) continue;
    if (s.after.goal.mode != Mode::serve) fail("a turn begins in a stop");
    for (const Turn& other : s.after.turns)
      if (&other != &t && other.stage != TurnStage::asking) fail("a routine turn beside another");
    if (count(s.after, [&](const Worker& w) { return leaving(w) && wanted(s.after, w) && w.id != t.outgoing; }))
      fail("a routine turn while another drains");
    for (unsigned slot = 0; slot < target(s.after); ++slot)
      if (s.after.slots[slot].retry_at > s.now) fail("a routine turn while boots fail");
  }
}

// Who is to go and stays has a reason, and that reason is true.
void PoolInvariants::waits_explain_themselves(const Step& s) const {
  for (const Worker& w : s.after.workers) {
    const bool is_to_go = std::holds_alternative<Recycle>(w.decision) && w.state == WorkerState::serving &&
                          wanted(s.after, w) && s.after.goal.mode == Mode::serve;
    const auto held = held_back(s.after, w, s.now);
    if (!is_to_go && held) fail("somebody waits who is not to go");
    if (!is_to_go) continue;
    const Turn* own = turn_in(s.after, *w.slot);
    const bool on_its_way = own && (own->stage == TurnStage::asking || own->stage == TurnStage::replacing);
    if (!held && !on_its_way && !gate_is_asked(s.after, w)) fail("somebody waits without a reason");
    if (!held) continue;
    if (held->until <= s.now) fail("somebody waits for what is over");
    const bool others = !s.after.turns.empty() || count(s.after, [](const Worker& each) { return leaving(each); });
    if (held->why == HoldReason::turn_in_hand && !others) fail("somebody waits for a turn that nobody has");
  }
}

// The cooldown counts from one moment, in which nobody's earlier judgement is left.
void PoolInvariants::recycles_are_told(const Step& s) const {
  for (const PoolAction& action : s.actions) {
    const auto* begun = std::get_if<BeginRecycle>(&action);
    if (!begun) continue;
    const Turn* turn = turn_against(s.before, begun->id);
    if (!turn || turn->rank == Rank::deploy) fail("a recycle begins that nobody asked the gate for");
    if (!find(s.after, begun->id)) fail("a recycle of nobody");
    for (const Worker& w : s.after.workers)
      if (!std::holds_alternative<Keep>(w.decision)) fail("a judgement from before the cooldown is left");
  }
}

// No started routine turn, no sibling's lease, no other slot's back-off holds an urgent worker.
void PoolInvariants::urgent_waits_for_reasons_only(const Step& s) {
  if (const auto* answer = std::get_if<GateAnswered>(&s.event))
    if (const auto* refused = std::get_if<Refused>(&answer->answer))
      for (const Turn& t : s.before.turns)
        if (t.ask == answer->ask && t.stage == TurnStage::asking) refused_ = {t.rank, s.now + refused->retry_after};
  const Goal& goal = s.after.goal;
  const long spares =
      count(s.after, [&](const Worker& w) { return w.state == WorkerState::spare && w.generation == goal.candidate; });
  const bool code = goal.candidate && (spares || !lost.contains(goal.candidate.value));
  if (goal.mode != Mode::serve || !code || retiring(s.after) >= 2) return;
  for (const Worker& w : s.after.workers) {
    const Rank r = urgency(w);
    if (r == Rank::none || w.state != WorkerState::serving || !wanted(s.after, w)) continue;
    if (s.after.slots[*w.slot].retry_at > s.now || (r <= refused_.rank && s.now < refused_.retry_at)) continue;
    bool reason = false;
    for (const Turn& t : s.after.turns) {
      const bool asked_before = (t.stage == TurnStage::asking && t.rank >= r) || t.stage == TurnStage::granted;
      const bool own =
          t.slot == w.slot && t.stage != TurnStage::asking && !(t.outgoing == w.id && others_serve(s.after, t.slot));
      reason |= asked_before || own;
    }
    if (!reason) fail("an urgent worker waits for no reason");
  }
}

// After the grant: fork and RETIRE in the same step, or (alone) RETIRE in the step of READY.
void PoolInvariants::retire_at_once(const Step& s) const {
  if (target(s.after) == 0) return;
  if (const auto* answer = std::get_if<GateAnswered>(&s.event);
      answer && std::holds_alternative<Granted>(answer->answer))
    for (const Turn& t : s.before.turns) {
      if (t.ask != answer->ask || t.stage != TurnStage::asking || !urgent(t.rank) || s.after.goal.mode != Mode::serve)
        continue;
      if (lost.contains(s.after.goal.candidate.value))
        continue;  // nothing to replace it with, but perhaps a last spare
      const Turn* now_in_hand = turn_in(s.after, t.slot);
      if (now_in_hand && now_in_hand->stage == TurnStage::granted) continue;  // a third; turns() looks
      const bool others = others_serve(s.before, t.slot), retired = told_to_retire(s.actions, t.outgoing),
                 forked = launched(s.actions, t.slot);
      if (others != retired)
        fail(others ? "others serve, yet the urgent one stays" : "the last one retired before its successor serves");
      const bool spare = count(s.before, [&](const Worker& w) {
        return w.state == WorkerState::spare && w.generation == s.after.goal.candidate;
      });
      const bool room = !others || s.after.headroom == Headroom::for_two || spare;
      if (room != forked) fail(room ? "an urgent turn without a fork" : "a fork without headroom");
    }
  const auto* ready = std::get_if<WorkerReady>(&s.event);
  const Worker* successor = ready ? find(s.before, ready->id) : nullptr;
  if (!successor || successor->state != WorkerState::booting || !successor->slot || s.now >= successor->deadline)
    return;
  const Turn* t = turn_in(s.before, *successor->slot);
  const Worker* outgoing = t ? find(s.before, t->outgoing) : nullptr;
  if (outgoing && outgoing->state == WorkerState::serving && retiring(s.before) < 2 &&
      !told_to_retire(s.actions, t->outgoing))
    fail("READY, yet no RETIRE");
}

// Who may be told to retire in a wanted slot, and how many at once.
void PoolInvariants::retires(const Step& s) const {
  for (const auto& each : s.actions) {
    const auto* retire = std::get_if<SendRetire>(&each);
    const Worker* w = retire ? find(s.before, retire->id) : nullptr;
    if (!w || !wanted(s.after, *w)) continue;
    if (retiring(s.after) > 2) fail("three retire at once");
    if (!serving(s.after)) fail("the last one was retired");
    const Turn* t = turn_against(s.before, w->id) ? turn_against(s.before, w->id) : turn_against(s.after, w->id);
    if (!t) fail("retired without a turn");
    const bool successor = in_slot(s.after, t->slot, WorkerState::serving) > 0;
    const bool in_place = s.after.headroom == Headroom::for_one;
    if (!urgent(t->rank) && urgency(*find(s.after, w->id)) == Rank::none && urgency(*w) == Rank::none && !successor &&
        !in_place)
      fail("capacity given up");
  }
}

// What the gate gave is what the turns hold, and not for ever.
void PoolInvariants::leases(const Step& s) {
  if (const auto* answer = std::get_if<GateAnswered>(&s.event)) {
    if (std::holds_alternative<Refused>(answer->answer)) leases_.erase(answer->ask.value);
    else if (const auto held = leases_.find(answer->ask.value); held != leases_.end()) held->second = s.now;
  }
  for (const auto& each : s.actions) {
    if (const auto* ask = std::get_if<AskGate>(&each); ask && !leases_.emplace(ask->ask.value, s.now).second)
      fail("asked twice");
    if (const auto* release = std::get_if<ReleaseGate>(&each); release && !leases_.erase(release->ask.value))
      fail("released twice");
  }
  std::set<std::uint64_t> of_turns;
  for (const Turn& t : s.after.turns)
    if (t.ask) of_turns.insert(t.ask.value);
  for (const auto& [ask, since] : leases_) {
    if (!of_turns.contains(ask)) fail("a lease without a turn");
    seen.longest_lease = std::max(seen.longest_lease, s.now - since);
    if (s.now - since > 2 * policy_.timeouts.boot + policy_.timeouts.graceful + policy_.timeouts.kill_after)
      fail("a lease is held too long");
  }
  if (of_turns.size() != leases_.size()) fail("a turn without its lease");
}

void PoolInvariants::backoff_before_the_next_question(const Step& s) {
  for (const Worker& w : s.before.workers) {
    const Worker* after = find(s.after, w.id);
    const bool gone = std::holds_alternative<WorkerGone>(s.event) && !after;
    if (gone && w.slot && w.state == WorkerState::serving) replacement_failed_.erase(*w.slot);
    const bool too_late = after && after->state == WorkerState::terminating && s.now >= w.deadline;
    if (w.slot && w.state == WorkerState::booting && (gone || too_late) &&
        in_slot(s.before, *w.slot, WorkerState::serving))
      replacement_failed_[*w.slot] = s.now;
  }
  for (const Turn& t : s.after.turns) {
    const Turn* before = turn_against(s.before, t.outgoing);
    const auto failed = replacement_failed_.find(t.slot);
    if (failed == replacement_failed_.end() || (before && before->ask == t.ask)) continue;
    if (before && !t.ask) continue;  // released
    if (s.now - failed->second < policy_.backoff.first) fail("asked again without a back-off");
  }
}

void PoolInvariants::turns_end(const Step& s) {
  std::erase_if(turn_since_, [&](const auto& each) { return !turn_against(s.after, WorkerId{each.first}); });
  for (const Turn& t : s.after.turns) {
    if (t.stage == TurnStage::asking) continue;
    const Duration age = s.now - turn_since_.emplace(t.outgoing.value, s.now).first->second;
    seen.longest_turn = std::max(seen.longest_turn, age);
    if (age > 2 * policy_.timeouts.boot + policy_.timeouts.graceful + policy_.timeouts.kill_after + 60s)
      fail("a turn never ends");
  }
}

void PoolInvariants::stop(const Step& s) const {
  const Mode was = s.before.goal.mode, is = s.after.goal.mode;
  if (stopping(was) && is < was) fail("a stop went backwards");
  const auto* closed = action<CloseListeners>(s.actions, [](const CloseListeners&) { return true; });
  if (closed && (was >= Mode::last || (closed->heir.value == 0) != (serving(s.after) == 0))) fail("the wrong heir");
  if (is == Mode::draining && was != Mode::quick && serving(s.before) && !serving(s.after) &&
      any<SendRetire>(s.actions))
    fail("a draining stop retires its last");
  if (is == Mode::draining && serving(s.after) > 1) fail("a draining stop keeps more than one");
  const bool listeners_done = std::holds_alternative<ListenersClosed>(s.event) || s.now >= s.before.goal.mode_until;
  if (is == Mode::last && was == Mode::last && any<SendRetire>(s.actions) && !listeners_done)
    fail("the last one retires before the listeners are closed");
  if (is == Mode::last && was != Mode::last && any<SendRetire>(s.actions))
    fail("the last one does not wait for the listeners");
  if (is == Mode::quick && count(s.after, [](const Worker& w) { return w.state < WorkerState::terminating; }))
    fail("a quick stop spares somebody");
  if (is == Mode::finished && !s.after.workers.empty()) fail("finished, yet somebody lives");
}
}  // namespace moult
