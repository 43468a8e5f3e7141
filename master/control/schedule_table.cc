#include "master/control/schedule_table.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "master/control/text_table.h"
namespace moult {
namespace {
using nlohmann::json;

constexpr int least_error_status = 400;
const TableShape shape{.left = {0, 1, 2, 3}, .columns_at_least = 3};

std::string lasted(const json& seconds) {
  if (!seconds.is_number() || seconds.get<double>() >= 60) return duration(seconds);
  char text[40];
  std::snprintf(text, sizeof text, seconds.get<double>() < 10 ? "%.2gs" : "%.0fs", seconds.get<double>());
  return text;
}

std::string outcome_in_words(const std::string& outcome) {
  if (outcome == "timed_out") return "not answered within its timeout";
  if (outcome == "cut_off") return "cut off before it was answered";
  if (outcome == "not_served") return "not made: nobody served";
  if (outcome == "claimed_elsewhere") return "made by another instance";
  if (outcome == "store_unreachable") return "not made here: it could not be claimed";
  if (outcome == "stopped") return "not made: moult is stopping";
  return outcome;
}

std::string last(const json& call) {
  if (field(call, "last_outcome") == json("answered")) return text(field(call, "last_status"));
  return outcome_in_words(text(field(call, "last_outcome")));
}

std::string next(const json& call) {
  const std::string state = text(field(call, "state"));
  if (state == "running") return "now";
  return state == "claiming" ? "now, being claimed" : text(field(call, "next_at"));
}
}  // namespace

std::string schedule_table(const json& status, std::size_t width) {
  static const json nobody = json::array();
  const json& listed = field(status, "schedule");
  const json& calls = listed.is_array() ? listed : nobody;
  if (calls.empty()) return "nothing is scheduled: write 'schedule' into the config file (man moult)\n";
  std::vector<TableRow> rows{{"NAME", "NEXT", "LAST STATUS", "WHEN", "TOOK"}};
  std::string costs;
  for (const json& call : calls) {
    rows.push_back({text(field(call, "name")), next(call), last(call), text(field(call, "when")),
                    lasted(field(call, "last_duration_seconds"))});
    if (field(call, "holds_awake_words").is_string())
      costs += "  " + text(field(call, "name")) + ": " + text(field(call, "holds_awake_words")) + '\n';
  }
  return table(rows, shape, width) + (costs.empty() ? "" : "holds the app awake?\n" + costs);
}

std::string call_in_words(const json& ended) {
  const std::string outcome = text(field(ended, "outcome"));
  const std::string how =
      outcome == "answered" ? "answered " + text(field(ended, "status")) : outcome_in_words(outcome);
  const json& why = field(ended, "why");
  const bool said = why.is_string() && !why.get_ref<const std::string&>().empty();
  return how + (said ? " (" + text(why) + ")" : "") + " after " + lasted(field(ended, "duration_seconds"));
}

bool went_well(const json& ended) {
  const json& status = field(ended, "status");
  return field(ended, "outcome") == json("answered") && status.is_number_integer() &&
         status.get<int>() < least_error_status;
}
}  // namespace moult
