// Pressure: how often memory was short. Events are counted. The least headroom that was seen is left out on purpose: it
// is the minimum of a few chance values, and its change from one day to the next (213 MB, then 204 MB) is no trend.
#include <algorithm>

#include "tools/doctor/checks.h"
#include "tools/event_history/figures.h"
namespace moult {
Check check_pressure(const History& history) {
  const auto recycles = static_cast<std::size_t>(std::ranges::count_if(
      history.recycles, [](const RecycleLine& recycle) { return recycle.cause == Cause::pressure; }));
  const std::size_t futile = history.futile_pressure_events, nothing = history.nothing_to_free_holds;
  const double seconds = std::chrono::duration<double>(history.last - history.first).count();
  Check check{.name = "pressure", .title = "memory pressure, by events"};
  check.looks_at =
      "recycles by pressure, and events that say that recycling helps nobody. The least headroom is not "
      "looked at: a minimum is no trend.";
  check.figures = {{"recycles", recycles}, {"futile", futile}, {"nothing_to_free", nothing}};
  check.verdict = counted(recycles, "recycle", "recycles") + " by pressure";
  if (recycles > 1) check.verdict += ", once in " + duration_text(seconds / static_cast<double>(recycles));
  check.verdict += ".";
  if (futile + nothing > 0)
    check.verdict += " Recycling could not help " + counted(futile + nothing, "time", "times") + ".";
  if (recycles + futile + nothing == 0) return check;
  check.level = Level::note;
  check.next_step = futile + nothing > 0
                        ? "Look for what else takes memory in the container; workers are not what fills it."
                        : "Compare the limits of all workers together with the container's: moult went by the last "
                          "10 % (--min-headroom).";
  return check;
}
}  // namespace moult
