#pragma once
// What doctor's tests share: event lines that a test edits in memory, and what doctor then names.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/doctor/checks.h"
namespace moult {
using Json = nlohmann::json;
using Lines = std::vector<Json>;

inline std::string fixture(const std::string& name) {
  return std::filesystem::path(__FILE__).parent_path() / "../../fixtures" / name;
}

inline Lines incident() {
  std::ifstream file(fixture("incident-events.jsonl"));
  Lines lines;
  for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
  EXPECT_EQ(lines.size(), 90u);
  return lines;
}

inline History history_of(const std::vector<std::string>& lines) {
  HistoryReader reader;
  std::size_t number = 0;
  for (const std::string& line : lines) EXPECT_TRUE(reader.add("log", {++number, line, false}));
  return reader.finish();
}
inline History history_of(const Lines& lines) {
  std::vector<std::string> texts;
  for (const Json& line : lines) texts.push_back(line.dump());
  return history_of(texts);
}

template <class AnyLines>
std::vector<std::string> named(const AnyLines& lines) {
  std::vector<std::string> names;
  for (const Check& check : all_checks(history_of(lines)))
    if (check.level == Level::finding) names.push_back(check.name);
  return names;
}

inline Lines edited(Lines lines, const std::function<void(Json&)>& edit) {
  for (Json& line : lines) edit(line);
  return lines;
}
inline Lines without(const Lines& lines, const std::function<bool(const Json&)>& leave_out) {
  Lines kept;
  for (const Json& line : lines)
    if (!leave_out(line)) kept.push_back(line);
  return kept;
}

inline std::string at_second(unsigned second) {
  char text[40];
  std::snprintf(text, sizeof text, "2026-08-29T%02u:%02u:%02u.000Z", second / 3600 % 24, second / 60 % 60, second % 60);
  return text;
}

// A worker that went in peace after a long life: a test changes what it is about.
inline Json recycle(unsigned second = 0, const Json& changes = Json::object()) {
  Json line = {{"event", "worker_recycled"},
               {"at", at_second(second)},
               {"instance", "web"},
               {"slot", 0},
               {"reason", "limit"},
               {"urgency", "routine"},
               {"rss_bytes", 501'000'000},
               {"limit_bytes", 500'000'000},
               {"hard_limit_bytes", 650'000'000},
               {"boot_rss_bytes", 300'000'000},
               {"requests", 5000},
               {"lifetime_seconds", 9000.0},
               {"gap_seconds", 4000.0},
               {"cooldown_seconds", 120.0},
               {"over_hard_seconds", 0.0},
               {"holds", Json::array()}};
  line.update(changes);
  return line;
}
inline Lines recycles(unsigned count, const Json& changes = Json::object(), unsigned seconds_apart = 3600) {
  Lines lines;
  for (unsigned i = 0; i < count; ++i) lines.push_back(recycle(i * seconds_apart % 86400, changes));
  return lines;
}
}  // namespace moult
