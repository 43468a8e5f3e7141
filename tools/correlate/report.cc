#include "tools/correlate/report.h"

#include <nlohmann/json.hpp>

#include "master/report/timestamp.h"
#include "tools/event_history/figures.h"
#include "tools/event_history/wrapped.h"
namespace moult {
namespace {
using Json = nlohmann::ordered_json;

std::string window_text(const Correlation& c) { return "+-" + duration_text(in_seconds(c.window)); }

std::string null_text(const Correlation& c) {
  return "Null: errors have nothing to do with recycles. Each of " + std::to_string(c.permutations) +
         " permutations (seed " + std::to_string(c.seed) +
         ") moves all errors by one random time around the log, so that they cluster as they did. p is the share of "
         "permutations with at least as many errors within W = " +
         window_text(c) + " of a recycle. What drives both at once, as traffic may, is not ruled out.";
}

std::string verdict(const Correlation& c) {
  if (!c.too_few.empty()) return "too few to say: " + c.too_few;
  const std::string figures = std::to_string(c.within) + " of " + counted(c.errors, "error", "errors") +
                              " came within " + window_text(c) + " of a recycle, where chance makes " +
                              number(c.expected) + ": lift " + number(c.lift()) + ", p = " + number(c.p) + ". ";
  return figures + (c.is_significant()
                        ? "Errors come near recycles more often than chance explains."
                        : "That is no more than chance may make (p is not below " + number(significant) + ").");
}

std::string remarks(const Findings& found) {
  std::string text;
  for (const std::string& line : reading_remarks(found.history)) text += line + "\n";
  const Canary& canary = found.canary;
  if (canary.without_moment > 0)
    text += counted(canary.without_moment, "canary line has", "canary lines have") + " no time: left out\n";
  if (canary.without_zone > 0)
    text += counted(canary.without_zone, "canary time says", "canary times say") + " no time zone: taken as UTC\n";
  if (const std::size_t outside = found.correlation.errors_outside)
    text += counted(outside, "error lies", "errors lie") + " before or after the events: left out\n";
  return text;
}
}  // namespace

std::string correlate_text(const Findings& found) {
  const Correlation& c = found.correlation;
  std::string text = counted(c.recycles, "recycle", "recycles") + ", " + counted(c.errors, "error", "errors") + "\n" +
                     extent(found.history) + "\n" + remarks(found) + "\n";
  for (const std::string& line : lines_of(found.timeline)) text += line + "\n";
  text += "\n" + wrapped(verdict(c), 0);
  return c.too_few.empty() ? text + wrapped(null_text(c), 0) : text;
}

std::string correlate_json(const Findings& found) {
  const Correlation& c = found.correlation;
  const bool known = c.too_few.empty();
  const auto if_known = [&](Json value) { return known ? value : Json(nullptr); };
  Json rows = Json::array();
  for (const TimelineRow& row : found.timeline.rows)
    rows.push_back({{"from", rfc3339(row.from)}, {"recycles", row.recycles}, {"errors", row.errors}});
  const Json document = {{"recycles", c.recycles},
                         {"errors", c.errors},
                         {"errors_outside", c.errors_outside},
                         {"malformed_lines", found.history.malformed.lines},
                         {"canary_lines_without_time", found.canary.without_moment},
                         {"canary_times_without_zone", found.canary.without_zone},
                         {"from", rfc3339(c.from)},
                         {"to", rfc3339(c.to)},
                         {"window_seconds", in_seconds(c.window)},
                         {"within", if_known(c.within)},
                         {"expected", if_known(c.expected)},
                         {"lift", known && c.expected > 0 ? Json(c.lift()) : Json(nullptr)},
                         {"p", if_known(c.p)},
                         {"significant", if_known(c.is_significant())},
                         {"permutations", if_known(c.permutations)},
                         {"seed", c.seed},
                         {"null", known ? null_text(c) : ""},
                         {"verdict", verdict(c)},
                         {"step_seconds", in_seconds(found.timeline.step)},
                         {"timeline", rows}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}
}  // namespace moult
