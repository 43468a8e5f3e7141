#pragma once
// How a scheduled call ended, for events, status and whoever ran it by hand. Pure values.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "master/sleep/schedule.h"
namespace moult {
enum class CallOutcome {
  answered,           // with a status, whatever that is
  timed_out,          // it was sent, and not answered within its timeout: it may have run, or run still
  cut_off,            // it was sent, and its connection ended without an answer (its worker was killed): likewise
  not_served,         // nobody served within its timeout: it has not run
  claimed_elsewhere,  // another instance of the fleet makes it
  store_unreachable,  // it could not be claimed within its timeout, so it was not made here
  lost,               // another instance claimed it, and ended before it could say what became of it
  stopped,            // moult stopped before it was sent
};
inline constexpr std::size_t call_outcomes = 8;
const char* name(CallOutcome);  // as in events: "timed_out"

struct EndedCall {
  std::string name;
  WallTime due;  // run by hand: when it was asked for
  CallOutcome outcome;
  std::optional<int> status;  // HTTP; only of one that was answered
  Duration took{};            // from when it was due and could begin, with claim and wake; zero: it was not ours
  bool by_hand = false;
  std::string why = {};     // of one that was not answered, for people; empty: the outcome says all
  std::string holder = {};  // lost: who had claimed it
  Duration late{};          // how long after `due` it could begin: the one before ran on, or the machine stood still
};
inline constexpr int least_error_status = 400;  // from here on an answer says that the call failed

// One entry of the schedule, as it is now.
struct ScheduledCallDescription {
  std::string name, when, method, path;  // `when` as it was written: "every 5m"
  Scope scope;
  Duration timeout;
  CallState state;
  std::optional<WallTime> next_at;  // none: in no foreseeable time
  std::optional<int> last_status;   // none: never answered, or the last one was given up undelivered
  std::optional<EndedCall> last;    // the last that ended; none: none yet
  std::optional<bool> holds_awake;  // none: not known here
  std::string holds_awake_words = {};
};
struct ScheduleDescription {
  std::vector<ScheduledCallDescription> calls;          // in the order of the file
  std::array<std::uint64_t, call_outcomes> outcomes{};  // how many ended how, since the start
  std::uint64_t errors = 0;                             // of the answered: with least_error_status or above
};
}  // namespace moult
