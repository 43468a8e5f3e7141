#include "master/control/status_table.h"

#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "master/control/schedule_table.h"
#include "master/control/text_table.h"
namespace moult {
namespace {
using nlohmann::json;

const TableShape shape{.left = {2, 9}, .columns_at_least = 3};  // slot, pid, state

std::string megabytes(const json& value) {
  if (!value.is_number_unsigned()) return "-";
  constexpr std::uint64_t megabyte = 1'000'000;  // rounded, as in the events and on the page
  return std::to_string(value.get<std::uint64_t>() / megabyte +
                        (value.get<std::uint64_t>() % megabyte >= megabyte / 2)) +
         " MB";
}

// "no_tokens 12m03s": until when it is judged again.
std::string hold(const json& worker) {
  const json& left = field(worker, "hold_ends_in_seconds");
  return text(field(worker, "hold")) + (left.is_number() ? " " + time_left(left) : "");
}

const json& list(const json& status, const char* key) {
  static const json nobody = json::array();
  const json& listed = field(status, key);
  return listed.is_array() ? listed : nobody;
}

TableRow worker_row(const json& worker) {
  return {text(field(worker, "slot")),
          text(field(worker, "pid")),
          text(field(worker, "state")),
          text(field(worker, "generation")),
          duration(field(worker, "uptime_seconds")),
          text(field(worker, "requests")),
          text(field(worker, "in_flight")),
          megabytes(field(worker, "rss_bytes")),
          megabytes(field(worker, "limit_bytes")),
          hold(worker)};
}

std::string after_failed_boots(const json& failed) {
  if (!failed.is_number_integer() || failed <= json(0)) return "";
  return ", after " + text(failed) + (failed == json(1) ? " failed boot" : " failed boots");
}

// Of a slot that nobody serves in. What it waits for is seen on a narrow terminal, too: it has no figures to show.
TableRow waiting_row(const json& slot) {
  const json& left = field(slot, "retry_seconds");
  const std::string until = left.is_number() ? "next attempt in " + time_left(left) : "until the app is loaded";
  return {text(field(slot, "slot")), "-", "waiting", until + after_failed_boots(field(slot, "failed_boots"))};
}

// Both are in the order of their slots; spares, which have none, come last.
bool comes_before(const json& waiting, const json& worker) {
  const json& place = field(worker, "slot");
  return !place.is_number() || field(waiting, "slot") < place;
}

std::size_t count_serving(const json& workers) {
  std::size_t serving = 0;
  for (const json& worker : workers) serving += field(worker, "state") == "serving";
  return serving;
}

std::string header(const json& status, const json& workers) {
  return "moult " + text(field(status, "version")) + "  name " + text(field(status, "name")) + "  pid " +
         text(field(status, "pid")) + "  state " + text(field(status, "state")) + "  generation " +
         text(field(status, "generation")) + "  uptime " + duration(field(status, "uptime_seconds")) + "  serving " +
         std::to_string(count_serving(workers)) + " of " + text(field(status, "wanted")) + " wanted";
}

// Urgent replacements have gone ahead of the budget: routine ones wait until it is paid back.
std::string debt(const json& status) {
  const json& tokens = field(field(status, "gate"), "tokens");
  if (!tokens.is_number() || tokens.get<double>() >= 0) return "";
  char text[40];
  std::snprintf(text, sizeof text, "%.1f", -tokens.get<double>());
  return "budget overdrawn by " + std::string(text) +
         " replacements: routine ones wait until --recycle-rate has paid "
         "them back\n";
}

std::string store_trouble(const json& status) {
  const json& gate = field(status, "gate");
  if (!field(gate, "trouble").is_string()) return "";
  return "fleet " + text(field(gate, "fleet")) + ": the store has been away for " +
         duration(field(gate, "trouble_seconds")) +
         ", only urgent replacements go on: " + text(field(gate, "trouble")) + '\n';
}

std::string blocked_in_words(const std::string& why) {
  if (why == "switched_off") return "it sleeps only when told to";
  if (why == "upgraded") return "a WebSocket or an event stream is open";
  if (why == "request") return "a request is in flight";
  if (why == "call") return "a scheduled call is in flight";
  if (why == "undelivered") return "a response has not arrived yet";
  if (why == "no_room_to_park") return "there are more idle connections than --parking-max";
  if (why == "window") return "somebody called a moment ago";
  if (why == "call_due") return "a scheduled call is due soon";
  if (why == "failed_stop") return "the last attempt to sleep failed";
  return why;
}

std::string warmth(const json& idle) {
  if (field(idle, "warm") == json(false)) return ", and waits while it is loaded: nothing is kept warm";
  const json& left = field(idle, "warm_for_seconds");
  return left.is_number() ? ", which is kept warm for " + time_left(left) : "";
}

// Nothing of an app that is awake and never sleeps by itself.
std::string idle_line(const json& status) {
  const json& idle = field(status, "idle");
  const std::string state = text(field(idle, "state")), since = duration(field(idle, "since_seconds"));
  const std::string failure = last_line(field(idle, "failure"));
  const std::string why = failure.empty() ? "" : ": " + failure;
  if (state == "stopping") return "falls asleep, since " + since + '\n';
  if (state == "waking") return "wakes for " + text(field(idle, "woken_by")) + ", since " + since + '\n';
  if (state == "asleep" && field(idle, "refuses_for_seconds").is_number())
    return "asleep, and could not be woken: callers get 503 for " + time_left(field(idle, "refuses_for_seconds")) +
           why + '\n';
  if (state == "asleep") return "asleep for " + since + ": the next caller wakes the app" + warmth(idle) + '\n';
  const std::string blocked = text(field(idle, "blocked_by"));
  if (state != "active" || blocked == "-" || blocked == "switched_off") return "";
  return "awake: " + blocked_in_words(blocked) + (blocked == "failed_stop" ? why : "") + '\n';
}

// "on its way to clients: 2 connections are watched, 1 of them stalled; ended: 240 delivered, 3 reset". Nothing where
// there was nothing to watch yet.
std::string linger_line(const json& status) {
  const json& linger = field(status, "linger");
  std::string trouble;
  if (field(linger, "trouble").is_string())
    trouble = "it cannot be seen what is on its way to clients, so the app does not sleep: " +
              text(field(linger, "trouble")) + '\n';
  if (!field(linger, "begun").is_number_integer() || field(linger, "begun") == json(0)) return trouble;
  std::string ended;
  const json& outcomes = field(linger, "outcomes");
  if (outcomes.is_object())
    for (const auto& [outcome, count] : outcomes.items())
      if (count.is_number() && count != json(0)) ended += (ended.empty() ? "" : ", ") + text(count) + ' ' + outcome;
  const std::string watched = text(field(linger, "watched"));
  std::string line = "on its way to clients: " + watched + (watched == "1" ? " connection is" : " connections are") +
                     " watched, " + text(field(linger, "stalled")) + " of them stalled" +
                     (ended.empty() ? "" : "; ended: " + ended) + '\n';
  const json& stuck = field(linger, "fail_closed");
  if (stuck.is_number_integer() && stuck != json(0))
    line += text(stuck) +
            " of them can be neither delivered nor cut off (that needs root or CAP_NET_ADMIN): the app "
            "stays awake\n";
  return line + trouble;
}

// As `moult schedule ls` has it.
std::string schedule(const json& status, std::size_t width) {
  const json& calls = field(status, "schedule");
  return calls.is_array() && !calls.empty() ? '\n' + schedule_table(status, width) : "";
}

// Nothing where none were lost.
std::string lost_lines(const json& status) {
  std::string lost;
  const auto add = [&](const char* key, const char* one, const char* several) {
    const json& count = field(status, key);
    if (!count.is_number_integer() || count == json(0)) return;
    lost += (lost.empty() ? "" : ", ") + text(count) + (count == json(1) ? one : several);
  };
  add("log_lines_dropped", " log line", " log lines");
  add("events_dropped", " event", " events");
  return lost.empty() ? "" : "lost, because nobody read them or the disk was full: " + lost + '\n';
}

// A reload that was refused stays the last trouble though everybody serves, on older code: that it is over is not said.
std::string boot_error_title(const json& status) {
  const json &age = field(status, "boot_error_age_seconds"), &wanted = field(status, "wanted");
  const bool all_serve = wanted.is_number() && json(count_serving(list(status, "workers"))) >= wanted;
  return "last trouble" + (age.is_number() ? ", " + duration(age) + " ago" : "") +
         (all_serve ? ", every wanted worker serves now:" : ":");
}

std::string boot_error(const json& status) {
  const json& error = field(status, "boot_error");
  if (!error.is_string() || error.get_ref<const std::string&>().empty()) return "";
  std::string shown = harmless(error.get<std::string>());
  shown.erase(shown.find_last_not_of(" \n") + 1);
  if (shown.find('\n') == std::string::npos) return boot_error_title(status) + ' ' + shown + '\n';
  std::string lines = boot_error_title(status) + "\n  ";
  for (const char c : shown) lines += c == '\n' ? "\n  " : std::string(1, c);
  return lines + '\n';
}
}  // namespace

std::string status_table(const json& status, std::size_t width) {
  const json& workers = list(status, "workers");
  std::vector<TableRow> rows{
      {"SLOT", "PID", "STATE", "GENERATION", "UPTIME", "REQUESTS", "IN-FLIGHT", "MEMORY", "LIMIT", "WAITS FOR"}};
  const json& waiting = list(status, "waiting_slots");
  auto next = waiting.begin();
  for (const json& worker : workers) {
    for (; next != waiting.end() && comes_before(*next, worker); ++next) rows.push_back(waiting_row(*next));
    rows.push_back(worker_row(worker));
  }
  for (; next != waiting.end(); ++next) rows.push_back(waiting_row(*next));
  return header(status, workers) + '\n' + table(rows, shape, width) + idle_line(status) + linger_line(status) +
         store_trouble(status) + debt(status) + lost_lines(status) + schedule(status, width) + boot_error(status);
}
}  // namespace moult
