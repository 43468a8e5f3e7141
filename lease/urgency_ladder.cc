#include "lease/urgency_ladder.h"

#include <algorithm>
namespace moult {
namespace {
using Rung = Ladder::Rung;

LadderStep over(Ladder ladder, LadderAction last) {
  ladder.rung = Rung::over;
  return {ladder, {std::move(last)}};
}

LadderStep ask(Ladder ladder, MonotonicTime now) {
  ladder.rung = Rung::asking;
  ladder.late_at = now + answer_is_late;
  return {ladder, {AskStore{{ladder.patience_ends}}}};
}

LadderStep waits(Ladder ladder, Refusal why) { return {ladder, {TellWait{why, ladder.patience_ends}}}; }

LadderStep jitter_until(Ladder ladder, MonotonicTime end, MonotonicTime now) {
  if (now >= end) return over(ladder, GoUngated{ladder.last_refusal});
  ladder.rung = Rung::jittering;
  ladder.patience_ends = end;
  return waits(ladder, ladder.last_refusal);
}

LadderStep refused(Ladder ladder, const Refused& refusal, MonotonicTime now) {
  if (!ladder.insists || refusal.why == Refusal::below_minimum) return over(ladder, AnswerPool{refusal});
  ladder.last_refusal = refusal.why;
  const MonotonicTime again = now + refusal.retry_after;
  if (again < ladder.patience_ends) {
    ladder.rung = Rung::pausing;
    ladder.ask_again_at = again;
    return waits(ladder, refusal.why);
  }
  const bool waited_for_nothing = refusal.why == Refusal::no_tokens;
  const MonotonicTime end =
      waited_for_nothing ? std::min(ladder.patience_ends, now + ladder.jitter) : ladder.patience_ends;
  return jitter_until(ladder, end, now);
}

LadderStep time_passed(Ladder ladder, MonotonicTime now) {
  switch (ladder.rung) {
    case Rung::pausing:
      if (now < ladder.ask_again_at) return {ladder, {}};
      return ask(ladder, now);
    case Rung::jittering:
      if (now < ladder.patience_ends) return {ladder, {}};
      return over(ladder, GoUngated{ladder.last_refusal});
    case Rung::asking:
      if (now < ladder.late_at) return {ladder, {}};
      ladder.late_at = never;
      return waits(ladder, Refusal::store_unreachable);
    case Rung::over: break;
  }
  return {ladder, {}};
}
}  // namespace

LadderStep begin(Urgency urgency, Budget budget, const LadderPolicy& policy, MonotonicTime now, Random& random) {
  Ladder ladder{.urgency = urgency};
  const bool routine = urgency == Urgency::routine;
  ladder.insists = !routine && !budget.spent(now);
  if (ladder.insists) ladder.jitter = random.up_to(policy.urgent_wait);
  const Duration patience = routine ? longest_routine_question : policy.urgent_wait + ladder.jitter;
  ladder.patience_ends = std::min(budget.end, now + patience);
  return ask(ladder, now);
}

LadderStep transition(Ladder ladder, const LadderEvent& event, MonotonicTime now) {
  const auto* said = std::get_if<StoreAnswered>(&event);
  if (!said) return time_passed(ladder, now);
  if (ladder.rung != Rung::asking) return {ladder, {}};
  if (const auto* refusal = std::get_if<Refused>(&said->answer)) return refused(ladder, *refusal, now);
  return over(ladder, AnswerPool{said->answer});
}

MonotonicTime next_deadline(const Ladder& ladder) {
  switch (ladder.rung) {
    case Rung::pausing: return ladder.ask_again_at;
    case Rung::jittering: return ladder.patience_ends;
    case Rung::asking: return ladder.late_at;
    case Rung::over: break;
  }
  return never;
}
}  // namespace moult
