#include "tools/correlate/canary.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/event_history/moment.h"
namespace moult {
namespace {
using nlohmann::json;

std::optional<Moment> moment_in(const json& object) {
  for (const char* key : {"at", "time", "timestamp", "ts", "@timestamp", "datetime", "date"}) {
    const auto found = object.find(key);
    if (found == object.end()) continue;
    const auto moment = found->is_string()   ? read_moment(found->get_ref<const std::string&>())
                        : found->is_number() ? unix_moment(found->get<double>())
                                             : std::nullopt;
    if (moment) return moment;
  }
  return std::nullopt;
}

std::optional<Moment> moment_of(std::string_view line) {
  if (line.starts_with('{')) {
    const json object = json::parse(line, nullptr, false);
    if (object.is_object()) return moment_in(object);
  }
  return find_moment(line);
}
}  // namespace

Result<void> add(Canary& canary, const std::string& file, const InputLine& line) {
  ++canary.lines;
  const auto moment = line.too_long ? std::nullopt : moment_of(line.text);
  if (!moment) {
    ++canary.without_moment;
    return {};
  }
  if (canary.times.size() == most_canaries)
    return Error{file + ":" + std::to_string(line.number) + ": more than " + std::to_string(most_canaries) +
                 " lines with a time: give a part of the file"};
  if (!moment->has_zone) ++canary.without_zone;
  canary.times.push_back(moment->at);
  return {};
}

Result<Canary> read_canary(const std::string& path) {
  Canary canary;
  const std::string called = path == "-" ? "stdin" : path;
  const auto read = for_each_line(path, [&](const InputLine& line) { return add(canary, called, line); });
  if (!read) return read.error();
  if (canary.times.empty() && canary.lines > 0)
    return Error{"no line of " + called + " has a time: understood are 2026-08-29T20:16:03Z, 2026-08-29 20:16:03, " +
                 "29/Aug/2026:20:16:03 +0000 and unix time, or JSON with one of them as \"at\" or \"time\""};
  std::ranges::sort(canary.times);
  return canary;
}
}  // namespace moult
