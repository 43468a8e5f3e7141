#pragma once
// `schedule` of the config file: a JSON array of objects, each a call that moult makes to its own app.
//
//   [{ "name": "nightly", "cron": "30 3 * * *", "time-zone": "Europe/Berlin", "path": "/jobs/nightly" },
//    { "name": "poll", "every": "5m", "path": "/jobs/poll", "method": "GET", "timeout": "20s", "scope": "fleet" }]
//
// Either `every` (at the multiples of it since 1970-01-01 UTC) or `cron` (five fields; in UTC, unless `time-zone` says
// otherwise). Looks time zones up in the machine's files, else pure.
#include <string_view>
#include <vector>

#include "base/result.h"
#include "master/sleep/scheduled_call.h"
namespace moult {
inline constexpr std::size_t most_scheduled_calls = 64;  // a choice: each is looked at at each event of the schedule
inline constexpr std::size_t longest_call_name = 64;     // it is a header, a metric's label and a command's argument
inline constexpr std::size_t longest_call_path = 2048;

// The array as JSON. One sentence names the entry (by its name, or else by its number), the key and what is right:
// "'poll': every: '5x' has the unknown unit 'x': ..."; the caller puts before it where the array stands.
Result<std::vector<ScheduledCall>> parse_schedule(std::string_view json);
}  // namespace moult
