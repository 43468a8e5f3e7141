#include "tools/doctor/report.h"

#include <algorithm>

#include "master/report/timestamp.h"
#include "tools/event_history/figures.h"
#include "tools/event_history/wrapped.h"
namespace moult {
namespace {
using Json = nlohmann::ordered_json;

const char* heading(Level level) {
  switch (level) {
    case Level::finding: return "FINDING";
    case Level::note: return "note";
    case Level::fine: return "fine";
    case Level::too_few: return "too few to say";
  }
  return "";
}

std::string text_of(const Check& check) {
  std::string text = std::string(heading(check.level)) + ": " + check.title + " (" + check.name + ")\n";
  text += wrapped(check.verdict, 2);
  for (const std::string& line : check.table) text += "    " + line + "\n";
  if (!check.next_step.empty()) text += wrapped("Next: " + check.next_step, 2);
  return text + wrapped("Looks at: " + check.looks_at, 2) + "\n";
}

std::size_t findings(const std::vector<Check>& checks) {
  return static_cast<std::size_t>(
      std::ranges::count_if(checks, [](const Check& check) { return check.level == Level::finding; }));
}

std::string headline(std::size_t found) {
  return found == 0 ? "nothing is named" : counted(found, "finding", "findings");
}
}  // namespace

std::string doctor_text(const History& history, const std::vector<Check>& checks) {
  std::string text = counted(history.recycles.size(), "recycle", "recycles") + "\n" + extent(history) + "\n";
  for (const std::string& line : reading_remarks(history)) text += line + "\n";
  text += headline(findings(checks)) + "\n\n";
  for (const bool found : {true, false})
    for (const Check& check : checks)
      if ((check.level == Level::finding) == found) text += text_of(check);
  text.pop_back();
  return text;
}

std::string doctor_json(const History& history, const std::vector<Check>& checks) {
  Json document = {{"lines", history.lines},
                   {"malformed_lines", history.malformed.lines},
                   {"malformed_examples", history.malformed.examples},
                   {"clock_went_back", history.backward_steps},
                   {"from", history.events ? Json(rfc3339(history.first)) : Json(nullptr)},
                   {"to", history.events ? Json(rfc3339(history.last)) : Json(nullptr)},
                   {"instances", history.instances.size()},
                   {"workers", history.worker_slots.size()},
                   {"recycles", history.recycles.size()},
                   {"findings", Json::array()},
                   {"checks", Json::array()}};
  for (const Check& check : checks) {
    if (check.level == Level::finding) document["findings"].push_back(check.name);
    document["checks"].push_back({{"name", check.name},
                                  {"level", name(check.level)},
                                  {"title", check.title},
                                  {"verdict", check.verdict},
                                  {"next_step", check.next_step.empty() ? Json(nullptr) : Json(check.next_step)},
                                  {"looks_at", check.looks_at},
                                  {"figures", check.figures}});
  }
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}
}  // namespace moult
