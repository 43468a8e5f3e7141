#include "master/control/event_words.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "master/control/text_table.h"
namespace moult {
namespace {
using nlohmann::json;
using Words = std::string (*)(const json& event);

std::string megabytes(const json& value) {
  if (!value.is_number()) return "-";
  char text[40];
  std::snprintf(text, sizeof text, "%.0f MB", value.get<double>() / 1e6);
  return text;
}

// A short wait to a tenth of a second, a long one as the tables have it.
std::string lasted(const json& seconds) {
  if (!seconds.is_number() || seconds.get<double>() >= 10) return duration(seconds);
  char text[40];
  std::snprintf(text, sizeof text, "%.1fs", seconds.get<double>());
  return text;
}

std::string worker(const json& event) {
  const json& slot = field(event, "slot");
  const json& pid = field(event, "pid");
  return (slot.is_number() ? "worker " + slot.dump() : "a spare worker") +
         (pid.is_number() ? " (pid " + pid.dump() + ")" : "");
}

std::string known(const json& event, const char* before, const char* key) {
  const std::string said = text(field(event, key));
  return said == "-" ? "" : before + said;
}

std::string known_line(const json& event, const char* before, const char* key) {
  const std::string said = last_line(field(event, key));
  return said.empty() ? "" : before + said;
}

std::string how_it_ended(const json& event) {
  std::string said = known(event, ": killed by ", "signal") + known(event, ": exit ", "exit_status") +
                     known(event, ": failed in ", "stage");
  if (field(event, "oom_killed") == json(true)) said += ", out of memory";
  return said + known_line(event, ": ", "cause");
}

std::string because(const json& event) {
  const std::string reason = text(field(event, "reason"));
  const std::string weighs = megabytes(field(event, "rss_bytes"));
  if (reason == "limit") return "over its limit (" + weighs + " of " + megabytes(field(event, "limit_bytes")) + ")";
  if (reason == "hard_limit")
    return "over its hard limit (" + weighs + " of " + megabytes(field(event, "hard_limit_bytes")) + ")";
  if (reason == "pressure")
    return "memory ran short (" + megabytes(field(event, "headroom_bytes")) + " left, it freed " +
           megabytes(field(event, "freed_bytes")) + ")";
  if (reason == "max_requests") return "it had served its requests";
  if (reason == "max_lifetime") return "it had lived its time";
  if (reason == "operator") return "asked for";
  return reason;
}

std::string waited(const json& event) {
  std::string said;
  const json& holds = field(event, "holds");
  if (!holds.is_array()) return said;
  for (const json& hold : holds) {
    const json& seconds = field(hold, "seconds");
    if (!seconds.is_number() || seconds.get<double>() < 0.1) continue;
    said +=
        (said.empty() ? "; it waited " : ", ") + lasted(seconds) + " for " + hold_in_words(text(field(hold, "reason")));
  }
  return said;
}

std::string drained(const json& event) {
  const std::string outcome = text(field(event, "drain_outcome"));
  const json& seconds = field(event, "drain_seconds");
  const std::string took = lasted(seconds);
  if (outcome == "deadline") return "; it left requests unanswered after " + took;
  if (outcome == "killed") return "; it had to be killed after " + took;
  const bool at_once = seconds.is_number() && seconds.get<double>() < 0.1;
  return at_once ? "; it finished at once" : "; it finished in " + took;
}

std::string recycled(const json& event) {
  const json& given = field(event, "handed_over");
  std::string said = worker(event) + " was replaced: " + because(event) + " after " + text(field(event, "requests")) +
                     " requests in " + lasted(field(event, "lifetime_seconds"));
  if (field(event, "gated") == json(false)) said += ", ahead of the budget";
  said += waited(event) + drained(event);
  if (given.is_number_integer() && given > 0) said += ", " + given.dump() + " idle connections live on";
  return said;
}

std::string hold_started(const json& event) {
  const json& until = field(event, "until");
  return worker(event) + " is to go and waits for " + hold_in_words(text(field(event, "reason"))) + ", " +
         (until.is_string() ? "until " + text(until) : std::string("with no end known yet"));
}

std::string lifetimes(const json& event) {
  return ": of the last " + text(field(event, "samples")) + " that went because of memory a tenth served " +
         text(field(event, "requests_p10")) + " requests or fewer";
}

std::string call_outcome_in_words(const json& event) {
  const std::string outcome = text(field(event, "outcome"));
  if (outcome == "timed_out") return "was not answered within its timeout";
  if (outcome == "cut_off") return "was cut off before it was answered";
  if (outcome == "not_served") return "was not made: nobody served";
  if (outcome == "claimed_elsewhere") return "is made by another instance";
  if (outcome == "store_unreachable") return "was not made here: it could not be claimed";
  if (outcome == "lost") return "is lost: its instance ended before it said more" + known(event, ", ", "holder");
  if (outcome == "stopped") return "was not made: moult was stopping";
  return "ended: " + outcome;
}

std::string milliseconds(const json& seconds) {
  if (!seconds.is_number() || seconds.get<double>() >= 1) return lasted(seconds);
  return std::to_string(std::lround(seconds.get<double>() * 1000)) + "ms";
}

std::string slept_because(const std::string& reason) {
  if (reason == "idle") return "nobody called";
  return reason == "operator" ? "asked for" : reason;
}

std::string caller_in_words(const std::string& caller) {
  if (caller == "caller") return "a visitor";
  if (caller == "call") return "a scheduled call";
  if (caller == "app_due") return "the app's own schedule";
  return caller == "operator" ? "an operator" : caller;
}

constexpr std::pair<std::string_view, Words> all_words[]{
    {"master_started", [](const json& e) { return "moult" + known(e, " ", "version") + " starts"; }},
    {"master_stopped",
     [](const json& e) {
       return "moult has stopped: exit " + text(field(e, "exit_status")) + " after " +
              lasted(field(e, "uptime_seconds"));
     }},
    {"worker_ready", [](const json& e) { return worker(e) + " serves" + known(e, ", generation ", "generation"); }},
    {"worker_exited",
     [](const json& e) {
       const bool crashed = field(e, "state") == json("serving");
       return worker(e) + (crashed ? " crashed" : " is gone") + how_it_ended(e);
     }},
    {"boot_failed", [](const json& e) { return worker(e) + " did not get ready" + how_it_ended(e); }},
    {"fork_server_gone", [](const json& e) { return "the fork server is gone" + how_it_ended(e); }},
    {"reload_started", [](const json& e) { return "a reload begins" + known(e, ": generation ", "generation"); }},
    {"reload_finished",
     [](const json& e) { return "the reload has ended: " + text(field(e, "outcome")) + known_line(e, ": ", "error"); }},
    {"worker_recycled", recycled},
    {"hold_started", hold_started},
    {"hold_ended",
     [](const json& e) {
       return worker(e) + " no longer waits for " + hold_in_words(text(field(e, "reason"))) + ", after " +
              lasted(field(e, "held_seconds"));
     }},
    {"gate_ungated",
     [](const json& e) { return worker(e) + " is replaced ahead of the budget: " + text(field(e, "reason")); }},
    {"alarm_firing", [](const json& e) { return "workers live too short" + lifetimes(e); }},
    {"alarm_cleared", [](const json& e) { return "workers live long enough again" + lifetimes(e); }},
    {"pressure_futile",
     [](const json& e) {
       return "replacing workers under memory pressure frees nothing: no more of it for " +
              lasted(field(e, "for_seconds"));
     }},
    {"scheduled_call",
     [](const json& e) {
       const bool answered = field(e, "outcome") == json("answered");
       const std::string how =
           answered ? "was answered " + text(field(e, "status")) + " after " + lasted(field(e, "duration_seconds"))
                    : call_outcome_in_words(e);
       return "the scheduled call '" + text(field(e, "name")) + "' " + how + known_line(e, ": ", "cause");
     }},
    {"linger_aborted",
     [](const json& e) {
       const bool one = field(e, "connections") == 1;
       return text(field(e, "connections")) +
              (one ? " client that took nothing of its" : " clients that took nothing of their") + " answer for " +
              lasted(field(e, "stalled_seconds")) + (one ? " was" : " were") + " cut off, before the " +
              text(field(e, "during"));
     }},
    {"fail_closed",
     [](const json& e) {
       const bool stops = field(e, "during") == json("stop");
       return std::string(stops ? "moult leaves" : "the app stays awake") + ": of the answers to " +
              text(field(e, "connections")) + " clients it is not known that they have arrived (" +
              text(field(e, "cause")) + ")" + known_line(e, ": ", "error");
     }},
    {"slept",
     [](const json& e) {
       return "the app sleeps: " + slept_because(text(field(e, "reason"))) + ", after " +
              lasted(field(e, "awake_seconds")) + " awake";
     }},
    {"woke",
     [](const json& e) {
       return "the app is awake for " + caller_in_words(text(field(e, "caller"))) + ", after " +
              milliseconds(field(e, "latency_seconds"));
     }},
    {"wake_failed",
     [](const json& e) {
       return "the app could not be woken for " + caller_in_words(text(field(e, "caller"))) + ": callers get 503 for " +
              time_left(field(e, "retry_in_seconds")) + known_line(e, ": ", "cause");
     }},
    {"stop_failed",
     [](const json& e) {
       return "the app was to sleep and stays awake: the next attempt is in " +
              time_left(field(e, "retry_in_seconds")) + known_line(e, ": ", "cause");
     }},
    {"events_dropped", [](const json& e) { return text(field(e, "count")) + " events were lost"; }}};
}  // namespace

std::string hold_in_words(const std::string& reason) {
  if (reason == "second_reading") return "a second reading";
  if (reason == "cooldown") return "the cooldown after the last replacement";
  if (reason == "busy") return "a quiet moment";
  if (reason == "turn_in_hand") return "another replacement to finish";
  if (reason == "boot_failing") return "replacements to boot again";
  if (reason == "no_tokens") return "the budget";
  if (reason == "lease_held") return "its turn in the fleet";
  if (reason == "below_minimum") return "enough healthy workers";
  if (reason == "store_unreachable") return "the fleet's store";
  if (reason == "nothing_to_free") return "memory that a replacement could free";
  if (reason == "pressure_futile") return "replacements under pressure to help again";
  return reason;
}

std::string event_sentence(const json& event) {
  const std::string name = text(field(event, "event"));
  for (const auto& [known_name, words] : all_words)
    if (known_name == name) return words(event);
  return name + ": " + harmless(event.dump(-1, ' ', false, json::error_handler_t::replace));
}

std::string event_for_people(const json& event) { return text(field(event, "at")) + "  " + event_sentence(event); }

const std::vector<std::string_view>& event_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const auto& each : all_words) all.push_back(each.first);
    return all;
  }();
  return names;
}
}  // namespace moult
