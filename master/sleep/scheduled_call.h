#pragma once
// One entry of `schedule`: what is called, and when. Pure. Read by config/, used by the schedule and by whoever
// delivers.
#include <optional>
#include <string>
#include <variant>

#include "master/sleep/cron.h"
namespace moult {
// Its times are the multiples of the period since 1970-01-01 UTC: the same on each machine, whenever it was started.
struct Every {
  Duration period;
  bool operator==(const Every&) const = default;
};
struct CronTimes {
  Cron cron;
  absl::TimeZone zone;
  bool operator==(const CronTimes&) const = default;
};
using When = std::variant<Every, CronTimes>;

enum class Scope {
  instance,  // each instance calls its own app
  fleet,     // one of the fleet does: it is claimed in the store first
};

struct ScheduledCall {
  std::string name;
  When when;
  std::string path = {};
  std::string method = "POST";
  Duration timeout{};  // the budget of one call: claim, wake, connect and answer
  Scope scope = Scope::instance;
  std::string as_written = {};  // its times, for people: "every 5m", "cron 30 3 * * * Europe/Berlin"
  bool operator==(const ScheduledCall&) const = default;
};

// The first due time strictly after that moment. None: in no foreseeable time.
std::optional<WallTime> next_after(const When&, WallTime);
}  // namespace moult
