#pragma once
// What each analysis of doctor says, in one form. An analysis is a pure function of a History, in a file of its own
// that names what it looks at, its thresholds and where those come from.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace moult {
enum class Level {
  fine,
  note,     // worth knowing, no fault
  finding,  // a fault, named
  too_few,  // nothing can be said
};
inline const char* name(Level level) {
  switch (level) {
    case Level::fine: return "fine";
    case Level::note: return "note";
    case Level::finding: return "finding";
    case Level::too_few: return "too_few";
  }
  return "";
}

struct Check {
  std::string name;   // one word, stable: what a script looks for
  std::string title;  // a few words; of a finding they name the fault
  Level level = Level::fine;
  std::string verdict;             // sentences, with figures
  std::string next_step;           // what to do; empty: nothing
  std::string looks_at;            // and its thresholds, with their sources
  std::vector<std::string> table;  // lines for people
  nlohmann::ordered_json figures =
      nlohmann::ordered_json::object();  // the same for machines; sizes bytes, times seconds
};
}  // namespace moult
