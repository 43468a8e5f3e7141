// Escalations: urgent recycles have a shorter cooldown. One that came later after the last recycle than a routine one
// might have come as well owes nothing to it. Named when there were several of a kind and not one used its cooldown: it
// must not be credited with how well things went.
#include "tools/doctor/checks.h"
#include "tools/doctor/measures.h"
#include "tools/event_history/figures.h"
namespace moult {
namespace {
// One or two that did not need it are chance; moult itself gives up pressure recycles after two futile ones.
constexpr std::size_t fewest_urgent = 3;

struct Escalation {
  Urgency urgency;
  std::size_t recycles = 0;   // of which the gap is known
  std::size_t exercised = 0;  // sooner after the last one than a routine one may be
  double smallest_gap = 0;
  bool never_fired() const { return recycles >= fewest_urgent && exercised == 0; }
};

Escalation escalation_of(const History& history, Urgency urgency, double routine_cooldown) {
  Escalation result{urgency};
  for (const RecycleLine& recycle : history.recycles) {
    if (recycle.urgency != urgency || !recycle.gap_seconds) continue;
    if (*recycle.gap_seconds < routine_cooldown) ++result.exercised;
    if (result.recycles++ == 0 || *recycle.gap_seconds < result.smallest_gap)
      result.smallest_gap = *recycle.gap_seconds;
  }
  return result;
}

std::string said(const Escalation& escalation) {
  const std::string kind = escalation.urgency == Urgency::pressure ? "pressure" : "hard limit";
  if (escalation.recycles == 0) return "No recycle was urgent by " + kind + ".";
  std::string text = counted(escalation.recycles, "recycle was", "recycles were") + " urgent by " + kind + ", " +
                     (escalation.exercised == 0 ? "none" : std::to_string(escalation.exercised)) +
                     " of them sooner than a routine one might have been";
  if (escalation.exercised == 0)
    text += ": the soonest came " + duration_text(escalation.smallest_gap) + " after the last";
  return text + ".";
}

nlohmann::ordered_json json_of(const Escalation& escalation) {
  return {{"recycles", escalation.recycles},
          {"exercised", escalation.exercised},
          {"smallest_gap_seconds", escalation.recycles ? nlohmann::ordered_json(escalation.smallest_gap) : nullptr}};
}

std::string title_of(const Escalation& pressure, const Escalation& hard_limit) {
  const std::string whose = !hard_limit.never_fired() ? "the pressure cooldown was"
                            : pressure.never_fired()  ? "the urgent cooldowns were"
                                                      : "the hard limit's cooldown was";
  return whose + " never exercised, and is to be credited with nothing";
}
}  // namespace

Check check_escalations(const History& history) {
  const double routine_cooldown = shown_cooldown_seconds(history);
  const Escalation pressure = escalation_of(history, Urgency::pressure, routine_cooldown);
  const Escalation hard_limit = escalation_of(history, Urgency::hard_limit, routine_cooldown);
  Check check{.name = "escalations", .title = "shorter cooldowns of urgent recycles"};
  check.looks_at = "the gap before each urgent recycle against the routine cooldown (" +
                   duration_text(routine_cooldown) + " here). Named from " + std::to_string(fewest_urgent) +
                   " of a kind on: one or two are chance.";
  check.verdict = said(pressure) + " " + said(hard_limit);
  check.figures = {{"routine_cooldown_seconds", routine_cooldown},
                   {"pressure", json_of(pressure)},
                   {"hard_limit", json_of(hard_limit)}};
  if (pressure.never_fired() || hard_limit.never_fired()) {
    check.level = Level::finding;
    check.title = title_of(pressure, hard_limit);
    check.next_step =
        "Do not count it among what helped, and do not tune it by this log: all would have gone the same "
        "without it. Test it on purpose, by pressure within the cooldown of another recycle.";
  } else if (pressure.recycles + hard_limit.recycles < fewest_urgent) {
    check.level = Level::too_few;
  }
  return check;
}
}  // namespace moult
