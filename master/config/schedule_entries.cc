#include "master/config/schedule_entries.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "master/config/in_quotes.h"
#include "master/config/nearest_name.h"
#include "master/config/units.h"
#include "master/sleep/time_zone.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
using nlohmann::json;

const std::vector<std::string_view> keys{"name", "every", "cron", "time-zone", "path", "method", "timeout", "scope"};
const std::vector<std::string_view> methods{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};
const std::vector<std::string_view> scopes{"instance", "fleet"};
// Choices. A second: what is due more often is a loop of the app's own. A year, so that a slip of the hand is noticed.
constexpr Range<milliseconds> periods{1s, 366 * 24h}, timeouts{1s, 24h};
constexpr Duration usual_timeout = 60s;

Result<std::string> text_of(const json& value) {
  if (!value.is_string()) return Error{"must be a string"};
  return value.get<std::string>();
}

Result<milliseconds> time_of(const json& value, Range<milliseconds> range) {
  if (!value.is_string() && !value.is_number()) return Error{"must be a number of seconds, or a string like \"5m\""};
  return parse_time(value.is_string() ? value.get<std::string>() : value.dump(), range);
}

Result<std::string> one_of(const json& value, const std::vector<std::string_view>& right_ones) {
  auto text = text_of(value);
  if (!text || std::ranges::find(right_ones, *text) != right_ones.end()) return text;
  std::string all;
  for (const auto each : right_ones)
    all += (all.empty() ? "" : each == right_ones.back() ? " or " : ", ") + std::string(each);
  return Error{in_quotes(*text) + " is unknown" + did_you_mean(*text, right_ones, "", "use " + all)};
}

Result<std::string> name_of_call(const json& value) {
  auto text = text_of(value);
  if (!text) return text;
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  if (!text->empty() && text->size() <= longest_call_name && std::ranges::all_of(*text, fits)) return text;
  return Error{in_quotes(*text) + " is not a name: 1 to " + std::to_string(longest_call_name) +
               " letters, digits, dots, dashes and underscores"};
}

Result<std::string> path_of(const json& value) {
  auto text = text_of(value);
  if (!text) return text;
  const auto fits = [](char c) { return c > ' ' && c < 127 && c != '#'; };
  if (!text->starts_with('/')) return Error{in_quotes(*text) + " does not begin with /: only the app itself is called"};
  if (!std::ranges::all_of(*text, fits))
    return Error{in_quotes(*text) + " has a blank, a # or a letter that is not ASCII: write it as %20, and so on"};
  if (text->size() > longest_call_path)
    return Error{"is longer than " + std::to_string(longest_call_path) + " letters"};
  return text;
}

// One entry, key by key; stops at the first error.
class Entry {
 public:
  explicit Entry(const json& object) : object_(object) {}

  Result<ScheduledCall> read() {
    check_keys();
    ScheduledCall call;
    call.timeout = usual_timeout;
    if (const json* value = needed("name")) take("name", name_of_call(*value), call.name);
    read_when(call.when);
    call.as_written = as_written();
    if (const json* value = needed("path")) take("path", path_of(*value), call.path);
    if (const json* value = find("method")) take("method", one_of(*value, methods), call.method);
    if (const json* value = find("timeout")) take("timeout", time_of(*value, timeouts), call.timeout);
    if (const json* value = find("scope")) {
      std::string scope;
      take("scope", one_of(*value, scopes), scope);
      call.scope = scope == "fleet" ? Scope::fleet : Scope::instance;
    }
    if (!error_.empty()) return Error{error_};
    return call;
  }

 private:
  void fail(const std::string& what) {
    if (error_.empty()) error_ = what;
  }
  template <class Read, class Field>
  void take(const std::string& key, Result<Read> read, Field& field) {
    if (read) field = *std::move(read);
    else fail(key + ": " + read.error().message);
  }
  const json* find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  const json* needed(const char* key) {
    const json* value = find(key);
    if (!value) fail(std::string(key) + " is missing");
    return value;
  }
  void check_keys() {
    for (const auto& [key, value] : object_.items()) {
      if (std::ranges::find(keys, key) == keys.end())
        return fail(in_quotes(key) + ": no such key" +
                    did_you_mean(key, keys, "", "name, every or cron, time-zone, path, method, timeout, scope"));
      if (value.is_null()) return fail(key + ": is null: leave the key out");
    }
  }
  void read_when(When& when) {
    const json *period = find("every"), *line = find("cron"), *zone_name = find("time-zone");
    if (period && line) return fail("every and cron are both given: leave one out");
    if (!period && !line) return fail("says not when: give every or cron");
    if (period && zone_name) return fail("time-zone: goes with cron: leave it out");
    if (period) {
      Every every;
      take("every", time_of(*period, periods), every.period);
      when = every;
      return;
    }
    CronTimes times;
    read_cron(*line, times.cron);
    if (zone_name) read_zone(*zone_name, times.zone);
    when = times;
  }
  // What was checked already.
  std::string as_written() const {
    std::string words;
    for (const char* key : {"every", "cron", "time-zone"})
      if (const json* value = find(key))
        words += (words.empty() ? std::string(key) + " " : " ") +
                 (value->is_string() ? value->get<std::string>() : value->dump() + "s");
    return words;
  }
  void read_cron(const json& value, Cron& cron) {
    const auto text = text_of(value);
    if (!text) return fail("cron: " + text.error().message);
    const auto read = parse_cron(*text);
    if (!read) return fail("cron: " + in_quotes(*text) + ": " + read.error().message);
    cron = *read;
  }
  void read_zone(const json& value, absl::TimeZone& zone) {
    const auto text = text_of(value);
    if (!text) return fail("time-zone: " + text.error().message);
    const auto found = find_time_zone(*text);
    if (!found) return fail("time-zone: " + in_quotes(*text) + " " + found.error().message);
    zone = *found;
  }

  const json& object_;
  std::string error_;
};

// How a person finds it: by its name where it has one.
std::string shown(const json& entry, std::size_t number) {
  if (entry.is_object() && entry.contains("name") && entry["name"].is_string() && entry["name"] != "")
    return in_quotes(entry["name"].get<std::string>());
  return "entry " + std::to_string(number);
}
}  // namespace

Result<std::vector<ScheduledCall>> parse_schedule(std::string_view text) {
  const json array = json::parse(text, nullptr, false);
  if (!array.is_array())
    return Error{"must be an array of objects: [{\"name\": \"poll\", \"every\": \"5m\", \"path\": \"/poll\"}]"};
  if (array.size() > most_scheduled_calls)
    return Error{"has " + std::to_string(array.size()) + " entries: at most " + std::to_string(most_scheduled_calls)};
  std::vector<ScheduledCall> calls;
  for (const json& entry : array) {
    const std::string where = shown(entry, calls.size() + 1) + ": ";
    if (!entry.is_object())
      return Error{where + "must be an object: {\"name\": \"poll\", \"every\": \"5m\", \"path\": \"/poll\"}"};
    auto call = Entry(entry).read();
    if (!call) return Error{where + call.error().message};
    if (std::ranges::find(calls, call->name, &ScheduledCall::name) != calls.end())
      return Error{where + "name: another entry has it already"};
    calls.push_back(*std::move(call));
  }
  return calls;
}
}  // namespace moult
