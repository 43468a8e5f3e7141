#include "tools/event_history/event_line.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/event_history/moment.h"
namespace moult {
namespace {
using nlohmann::json;

constexpr double most_bytes = 1e18;    // an exbibyte: more is no memory
constexpr double most_seconds = 1e10;  // three hundred years

// Takes the keys of one object out; the first thing that is wrong is kept.
struct Fields {
  const json& object;
  std::string wrong;

  const json* find(const char* key) const {
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
  }
  void complain(const std::string& what) {
    if (wrong.empty()) wrong = what;
  }
  std::string text(const char* key) {
    const json* found = find(key);
    if (!found) return "";
    if (found->is_string()) return found->get<std::string>();
    complain(std::string(key) + " is no text");
    return "";
  }
  std::optional<double> number(const char* key, double most) {
    const json* found = find(key);
    if (!found) return std::nullopt;
    const double value = found->is_number() ? found->get<double>() : std::nan("");
    if (std::isfinite(value) && value >= 0 && value <= most) return value;
    complain(std::string(key) + (found->is_number() ? " is out of range" : " is no number"));
    return std::nullopt;
  }
  std::optional<std::uint64_t> count(const char* key) {
    const auto value = number(key, most_bytes);
    return value ? std::optional(static_cast<std::uint64_t>(*value)) : std::nullopt;
  }
  std::optional<double> seconds(const char* key) { return number(key, most_seconds); }
};

template <class Word>
std::optional<Word> word_of(const std::string& text, std::initializer_list<Word> words) {
  for (const Word word : words)
    if (text == name(word)) return word;
  return std::nullopt;
}

std::optional<double> held_by_cooldown(Fields& fields) {
  const json* holds = fields.find("holds");
  if (!holds) return std::nullopt;
  double seconds = 0;
  if (!holds->is_array()) fields.complain("holds is no list");
  else
    for (const json& each : *holds) {
      if (!each.is_object()) {
        fields.complain("holds has something else than objects");
        break;
      }
      Fields hold{each, ""};
      const std::string reason = hold.text("reason");
      const auto lasted = hold.seconds("seconds");
      if (!hold.wrong.empty()) fields.complain("holds: " + hold.wrong);
      if (reason == name(HoldReason::cooldown)) seconds += lasted.value_or(0);
    }
  return seconds;
}

RecycleLine recycle_of(Fields& fields, const EventLine& line) {
  RecycleLine recycle{.at = line.at, .instance = line.instance, .slot = line.slot};
  recycle.cause = word_of(fields.text("reason"), {Cause::limit, Cause::hard_limit, Cause::pressure, Cause::max_requests,
                                                  Cause::max_lifetime, Cause::operator_request});
  recycle.urgency = word_of(fields.text("urgency"), {Urgency::routine, Urgency::hard_limit, Urgency::pressure});
  recycle.rss_bytes = fields.count("rss_bytes");
  recycle.limit_bytes = fields.count("limit_bytes");
  recycle.hard_limit_bytes = fields.count("hard_limit_bytes");
  recycle.boot_rss_bytes = fields.count("boot_rss_bytes");
  recycle.requests = fields.count("requests");
  recycle.lifetime_seconds = fields.seconds("lifetime_seconds");
  recycle.gap_seconds = fields.seconds("gap_seconds");
  recycle.cooldown_seconds = fields.seconds("cooldown_seconds");
  recycle.over_hard_seconds = fields.seconds("over_hard_seconds");
  recycle.held_by_cooldown_seconds = held_by_cooldown(fields);
  return recycle;
}
}  // namespace

Result<EventLine> read_event_line(std::string_view text) {
  const json object = json::parse(text, nullptr, false);
  if (object.is_discarded()) return Error{"not JSON"};
  if (!object.is_object()) return Error{"no JSON object"};
  Fields fields{object, ""};
  EventLine line;
  line.event = fields.text("event");
  if (line.event.empty()) fields.complain("it has no \"event\"");
  const std::string at = fields.text("at");
  const auto moment = read_moment(at);
  if (!moment) fields.complain(at.empty() ? "it has no \"at\"" : "\"at\" is no moment");
  else line.at = moment->at;
  line.instance = fields.text("instance");
  if (const auto slot = fields.number("slot", 1e9)) line.slot = static_cast<unsigned>(*slot);
  if (line.event == "worker_recycled") line.recycle = recycle_of(fields, line);
  if (line.event == "hold_started") line.reason = fields.text("reason");
  if (!fields.wrong.empty()) return Error{fields.wrong};
  return line;
}
}  // namespace moult
