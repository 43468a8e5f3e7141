#pragma once
// One question of an instance whose fleet's ledger lies in a store: how long it is asked there, and what then. Pure.
// Run by FallbackGate, one for each question.
//
//   asking     the store is asked, until it grants or the question's patience ends
//   pausing    it refused what may soon be otherwise (a lease, its clock, the store itself): asked again after its hint
//   jittering  no answer is hoped for any more; instances that met the same trouble do not go ahead together
//   over       answered
//
// Whoever asked is told what the wait is for: the refusal that may soon be otherwise, or store_unreachable once an
// answer is late.
//
// Routine: asked once, for at most longest_routine_question; whatever comes is the answer.
// Urgent:  asked for urgent_wait and a jitter of up to as much again, by hints. A hint that does not fit (tokens) is
// not
//          waited for: only the jitter is. Then it goes ungated. A minimum that it would break is the answer at once:
//          nothing overrides that.
#include "base/budget.h"
#include "base/random.h"
#include "base/step.h"
#include "base/urgency.h"
#include "lease/fleet_policy.h"
#include "lease/gate.h"
namespace moult {
// A turn that asks is in nobody's way but its own; after this it is held, with the reason in the status.
inline constexpr Duration longest_routine_question = heartbeat_every;

// A healthy store answers within some ms, a busy one within some tens: nobody is told of a wait as short as that.
inline constexpr Duration answer_is_late = std::chrono::milliseconds(250);

struct LadderPolicy {
  Duration urgent_wait;  // --urgent-wait
};
struct Ladder {
  enum class Rung { asking, pausing, jittering, over };
  Rung rung = Rung::asking;
  Urgency urgency = Urgency::routine;
  bool insists = false;  // urgent, and asked while there was time: no refusal but the minimum is the last word
  MonotonicTime patience_ends{};
  MonotonicTime ask_again_at{};   // pausing
  MonotonicTime late_at = never;  // asking: until the answer is late, and that is told
  Duration jitter{};
  Refusal last_refusal = Refusal::store_unreachable;
};

struct AskStore {
  Budget budget;
};
struct AnswerPool {
  GateAnswer answer;
};
struct GoUngated {
  Refusal in_spite_of;
};  // unless the instance would fall below its own minimum
struct TellWait {
  Refusal why;
  MonotonicTime until;
};
using LadderAction = std::variant<AskStore, AnswerPool, GoUngated, TellWait>;

struct StoreAnswered {
  GateAnswer answer;
};
using LadderEvent = std::variant<StoreAnswered, TimePassed>;

using LadderStep = Step<Ladder, LadderAction>;
LadderStep begin(Urgency, Budget, const LadderPolicy&, MonotonicTime now, Random&);
LadderStep transition(Ladder, const LadderEvent&, MonotonicTime now);
// Of asking: when the answer is late. (That there is one by the end of its budget is the store's gate's to see to.)
MonotonicTime next_deadline(const Ladder&);
}  // namespace moult
