#include "master/control/client_streams.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <nlohmann/json.hpp>
#include <ostream>
#include <thread>

#include "base/step.h"
#include "master/control/event_words.h"
#include "master/control/status_table.h"
#include "master/control/terminal.h"
#include "master/control/text_table.h"
namespace moult {
namespace {
using nlohmann::json;

constexpr std::size_t recycles_watched = 5;

std::string one_line(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

std::string last_recycles(const json& status) {
  const json& recent = field(status, "recent_recycles");
  std::string lines;
  if (!recent.is_array()) return lines;
  for (std::size_t i = 0; i < std::min(recent.size(), recycles_watched); ++i)
    lines += "  " + text(field(recent[i], "at")) + "  " + text(field(recent[i], "sentence")) + '\n';
  return lines.empty() ? "" : "\nlast recycles:\n" + lines;
}

// From the top left, each line to its end, and nothing of the last picture below it. One that is longer than the
// screen would push its own head away, so it is cut.
std::string over_the_last(const std::string& picture, std::size_t height) {
  std::string drawn = "\x1b[H";
  std::size_t lines = 0;
  for (std::size_t from = 0; from < picture.size(); ++lines) {
    if (height > 1 && lines + 1 == height) break;
    const std::size_t end = std::min(picture.find('\n', from), picture.size());
    drawn += picture.substr(from, end - from) + "\x1b[K\n";
    from = end + 1;
  }
  return drawn + "\x1b[J";
}

std::string picture_of(const json& status, const ClientOutput& to) {
  if (to.json) return one_line(status) + '\n';
  const std::string picture = status_table(status, terminal_width()) + last_recycles(status);
  return to.terminal ? over_the_last(picture, terminal_height()) : picture + '\n';
}

// The result of this answer, or the exit status that it means.
std::variant<json, int> result_of(const ControlAnswer& answer, const ClientOutput& to) {
  const auto ends = [&to](int status, const std::string& why) -> std::variant<json, int> {
    to.err << "moult: " << why << std::endl;
    return status;
  };
  return std::visit(Match{[](const json& result) -> std::variant<json, int> { return result; },
                          [&](const RefusedByMaster& said) { return ends(client_refused, said.why); },
                          [&](const NoAnswer& said) { return ends(client_nobody, said.why); }},
                    answer);
}

std::uint64_t number(const json& result, const char* key) {
  const json& value = field(result, key);
  return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}

class EventsShown {
 public:
  EventsShown(ControlClient& client, const EventsWish& wish, const ClientOutput& to)
      : client_(client), wish_(wish), to_(to) {}

  int run() {
    if (const auto ended = tell_what_has_been()) return *ended;
    while (wish_.follow && to_.out && !stopped_ && stdout_is_read()) {
      std::deque<json> events;
      if (const auto ended = ask(true, events)) return *ended;
      for (const json& each : events) print(each);
    }
    return client_done;
  }

 private:
  // None: they were told. All come before the first is printed, so that the last ones are known.
  std::optional<int> tell_what_has_been() {
    std::deque<json> events;
    for (std::uint64_t before = after_ + 1; before != after_;) {
      before = after_;
      if (const auto ended = ask(false, events)) return ended;
      while (wish_.last && events.size() > *wish_.last) events.pop_front();
    }
    for (const json& each : events) print(each);
    return std::nullopt;
  }

  // Adds those that are wanted.
  std::optional<int> ask(bool wait, std::deque<json>& events) {
    auto answered = result_of(client_.ask(EventsCommand{after_, wait}, events_answer_limit), to_);
    if (const int* status = std::get_if<int>(&answered)) return *status;
    const json& result = std::get<json>(answered);
    if (const std::uint64_t missed = number(result, "missed"); missed > 0)
      to_.err << "moult: " << missed << " events came faster than they were read, and are missing here" << std::endl;
    const json& told = field(result, "events");
    if (told.is_array())
      for (const json& each : told) {
        stopped_ = stopped_ || field(each, "event") == "master_stopped";
        if (lets_through(wish_.filter, each)) events.push_back(each);
      }
    after_ = std::max(after_, number(result, "last"));
    return std::nullopt;
  }

  void print(const json& event) { to_.out << (to_.json ? one_line(event) : event_for_people(event)) << std::endl; }

  ControlClient& client_;
  const EventsWish& wish_;
  const ClientOutput& to_;
  std::uint64_t after_ = 0;  // the number of the last one that we have
  bool stopped_ = false;     // the last of all was told
};
}  // namespace

int watch_status(ControlClient& client, const ClientOutput& to) {
  if (to.terminal && !to.json) to.out << "\x1b[2J";
  while (to.out) {
    auto answered = result_of(client.ask(StatusCommand{}), to);
    if (const int* status = std::get_if<int>(&answered)) return *status;
    to.out << picture_of(std::get<json>(answered), to) << std::flush;
    std::this_thread::sleep_for(watched_every);
  }
  return client_done;
}

int show_events(ControlClient& client, const EventsWish& wish, const ClientOutput& to) {
  return EventsShown(client, wish, to).run();
}
}  // namespace moult
