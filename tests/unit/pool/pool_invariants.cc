#include "tests/unit/pool/pool_invariants.h"
#include <cstdio>
#include <cstdlib>
#include "tests/unit/pool/pool_look.h"
namespace moult {
using namespace look;

void PoolInvariants::fail(const char* what) const {
  std::printf("BROKEN: %s (seed %u, step %ld)\n", what, seed, step_);
  std::exit(1);
}

void PoolInvariants::check(const Pool& before, const PoolEvent& event, const Pool& after,
                           const std::vector<PoolAction>& actions, MonotonicTime now) {
  ++step_;
  const Step s{before, event, after, actions, now};
  slots(s);
  no_lost_wake(s);
  generations(s);
  spares(s);
  turns(s);
  routine_begins_in_peace(s);
  urgent_waits_for_reasons_only(s);
  waits_explain_themselves(s);
  recycles_are_told(s);
  retire_at_once(s);
  retires(s);
  leases(s);
  backoff_before_the_next_question(s);
  turns_end(s);
  stop(s);
  look_for_cases(s);
}

// Never more than wanted, but for a replacement in hand; nobody unwanted lives on.
void PoolInvariants::slots(const Step& s) const {
  for (const Worker& w : s.after.workers) {
    if (!w.slot || leaving(w)) continue;
    if (!wanted(s.after, w) && !(stopping(s.after.goal.mode) && w.state == WorkerState::serving))
      fail("an unwanted worker lives on");
    if (in_slot(s.after, *w.slot, WorkerState::booting) > 1) fail("two boots in one slot");
    const long lively =
        in_slot(s.after, *w.slot, WorkerState::booting) + in_slot(s.after, *w.slot, WorkerState::serving);
    const Turn* t = turn_in(s.after, *w.slot);
    if (target(s.after) && lively > (t && t->stage == TurnStage::replacing ? 2 : 1)) fail("more workers than wanted");
    if (w.state == WorkerState::booting && w.generation != s.after.goal.proven &&
        w.generation != s.after.goal.candidate)
      fail("a superseded boot goes on");
    const bool in_place = t && t->order == Order::in_place && t->stage == TurnStage::replacing;
    if (in_place && w.state == WorkerState::booting && find(s.after, t->outgoing)) fail("in place, yet two at once");
  }
}

// A wanted slot serves, boots, or waits for something that is sure to come.
void PoolInvariants::no_lost_wake(const Step& s) const {
  const Goal& goal = s.after.goal;
  const auto available = [&](Generation g) {
    return g && (!lost.contains(g.value) ||
                 count(s.after, [&](const Worker& w) { return w.state == WorkerState::spare && w.generation == g; }));
  };
  for (unsigned slot = 0; slot < target(s.after); ++slot) {
    if (in_slot(s.after, slot, WorkerState::serving) || in_slot(s.after, slot, WorkerState::booting)) continue;
    const MonotonicTime retry = s.after.slots.at(slot).retry_at;
    if (retry > s.now) {
      if (next_deadline(s.after, s.now) > retry) fail("nobody wakes for the retry");
      continue;
    }
    const Turn* t = turn_in(s.after, slot);
    if (t && t->order == Order::in_place && find(s.after, t->outgoing)) continue;
    if (available(goal.proven) || available(goal.candidate)) fail("a wanted slot is empty and nobody comes");
  }
  const auto slept_through = [&](MonotonicTime at) { return at > s.now && next_deadline(s.after, s.now) > at; };
  for (const Turn& t : s.after.turns)
    if (slept_through(t.deadline)) fail("nobody wakes for a turn's deadline");
  if (slept_through(s.after.refused.retry_at)) fail("nobody wakes for the next question");
  if (slept_through(s.after.spare_boots.retry_at)) fail("nobody wakes for a spare");
}

void PoolInvariants::generations(const Step& s) {
  if (const auto* gone = std::get_if<WorkerGone>(&s.event))
    if (const Worker* w = find(s.before, gone->id); w && w->slot && w->state == WorkerState::booting)
      boot_failed_[*w->slot] = w->generation.value;
  for (const Worker& w : s.before.workers)  // too late
    if (const Worker* after = find(s.after, w.id);
        w.slot && w.state == WorkerState::booting && s.now >= w.deadline && after && leaving(*after))
      boot_failed_[*w.slot] = w.generation.value;
  if (const auto* ready = std::get_if<WorkerReady>(&s.event))
    if (const Worker* w = find(s.after, ready->id); w && w->slot && w->state == WorkerState::serving)
      boot_failed_.erase(*w->slot);
  if (any<GenerationRejected>(s.actions) && lost.contains(s.before.goal.proven.value))
    fail("rejected with nothing to go back to");
  const Goal& goal = s.after.goal;
  const bool proven_available = goal.proven && !lost.contains(goal.proven.value);
  for (const auto& each : s.actions) {
    const auto* spawn = std::get_if<Spawn>(&each);
    if (!spawn) continue;
    if (lost.contains(spawn->generation.value)) fail("a lost generation was forked");
    if (!spawn->slot) continue;
    const Turn* t = turn_in(s.after, *spawn->slot);
    if (t && t->stage == TurnStage::replacing) {
      if (spawn->generation != goal.candidate) fail("replaced by old code");
      continue;
    }
    const auto failed = boot_failed_.find(*spawn->slot);
    const bool proven_failed = failed != boot_failed_.end() && failed->second == goal.proven.value;
    if (spawn->generation != goal.proven && proven_available && serving(s.after) && !proven_failed)
      fail("refill with unproven code");
    if (spawn->generation == goal.proven && goal.candidate != goal.proven && !serving(s.after) &&
        !goal.candidate_failures)
      fail("a wake with old code");
    const auto died = boot_failed_.find(*spawn->slot);
    const bool died_here = died != boot_failed_.end() && died->second == spawn->generation.value;
    if (died_here && proven_available && spawn->generation != goal.proven) fail("an empty slot retries unproven code");
  }
}

void PoolInvariants::spares(const Step& s) const {
  const bool ends = stopping(s.after.goal.mode) && s.after.goal.mode != Mode::delay;
  const long has = count(s.after, [](const Worker& w) {
    return w.state == WorkerState::spare || (w.state == WorkerState::booting && !w.slot);
  });
  const unsigned wants = ends ? 0 : s.after.goal.spares;
  if (has > wants) fail("more spares than wanted");
  if (has < wants && !spares_wait_for(s)) fail("a spare is missing and nobody comes");
  for (const Worker& w : s.after.workers)
    if (w.slot && w.state == WorkerState::spare) fail("a spare in a slot");
  for (const auto& each : s.actions) {
    if (const auto* go = std::get_if<Go>(&each)) {
      const auto* parked = std::get_if<WorkerParked>(&s.event);
      const Worker* w = find(s.before, go->id);
      if (!w || w->slot || (w->state != WorkerState::spare && !(parked && parked->id == go->id)))
        fail("GO to one that does not wait");
    }
    if (const auto* spawn = std::get_if<Spawn>(&each); spawn && spawn->slot)
      if (count(s.after,
                [&](const Worker& w) { return w.state == WorkerState::spare && w.generation == spawn->generation; }))
        fail("a fork beside a waiting spare");
  }
}

// What may keep a spare from being forked.
bool PoolInvariants::spares_wait_for(const Step& s) const {
  const Goal& goal = s.after.goal;
  const bool boots = count(s.after, [](const Worker& w) { return w.slot && w.state == WorkerState::booting; });
  const bool no_room = s.after.headroom == Headroom::for_one && target(s.after) > 0;
  const bool no_code =
      !goal.candidate || lost.contains(goal.candidate.value) || (goal.proven && lost.contains(goal.proven.value));
  return boots || no_room || no_code || s.after.spare_boots.retry_at > s.now;
}

void PoolInvariants::look_for_cases(const Step& s) const {
  for (const Turn& t : s.after.turns) {
    const Turn* before = turn_against(s.before, t.outgoing);
    const bool starts = t.stage == TurnStage::replacing && !(before && before->stage == TurnStage::replacing);
    seen.together += starts && t.order == Order::together;
    seen.in_place += starts && t.order == Order::in_place;
    seen.alone += starts && urgent(t.rank) && t.order == Order::successor_first;
    seen.urgent_beside_a_turn += starts && urgent(t.rank) && s.after.turns.size() > 1;
    const Worker* outgoing = find(s.after, t.outgoing);
    const bool old_serves = outgoing && outgoing->state == WorkerState::serving;
    const bool waits = t.stage == TurnStage::granted || (t.stage == TurnStage::replacing && old_serves &&
                                                         in_slot(s.after, t.slot, WorkerState::serving) == 2);
    seen.third_waited += waits && retiring(s.after) >= 2;
  }
  for (const auto& each : s.actions)
    if (const auto* spawn = std::get_if<Spawn>(&each); spawn && spawn->slot && !turn_in(s.after, *spawn->slot))
      if (s.after.goal.proven && spawn->generation != s.after.goal.proven)
        ++(lost.contains(s.after.goal.proven.value) ? seen.refills_from_candidate : seen.wakes_with_new_code);
  seen.stops_with_heir +=
      action<CloseListeners>(s.actions, [](const CloseListeners& a) { return bool(a.heir); }) != nullptr;
}
}  // namespace moult
