#pragma once
// The five fields of a crontab line, and the moments that they name in a time zone. Pure.
//
//   minute (0-59)  hour (0-23)  day of the month (1-31)  month (1-12, jan-dec)  day of the week (0-7, sun-sat; 0 and 7
//   are Sunday)
//
// Each is `*`, or a list of values, ranges a-b and steps (`*/n`, `a-b/n`). As crontab(5) has it: where both kinds of
// day are restricted (neither begins with *), one of them is enough.
//
// When clocks are changed, a line that names its hours is due exactly once for each of its times: one that is jumped
// over is due in the moment of the jump (several that are jumped over: once together), one that comes twice is due the
// first time. A line that is due in every hour goes by real time: nothing is made up for, nothing is left out.
#include <bitset>
#include <optional>
#include <string_view>

#include <absl/time/time.h>

#include "base/clock.h"
#include "base/result.h"
namespace moult {
struct Cron {
  std::bitset<60> minutes;
  std::bitset<24> hours;
  std::bitset<32> days;     // 1 to 31
  std::bitset<13> months;   // 1 to 12
  std::bitset<7> weekdays;  // 0 is Sunday
  bool either_day = false;  // a day of the month or of the week is enough; else it must be both
  bool operator==(const Cron&) const = default;
};

// The error names the field and what is right there, and repeats nothing of the text but numbers.
Result<Cron> parse_cron(std::string_view text);

// The first one strictly after that moment. None: not within nine years (a 29 February that must be a Monday, say; two
// of them can be eight years apart, 2096 and 2104).
inline constexpr std::chrono::hours farthest_cron_time{24 * 366 * 9};
std::optional<WallTime> next_cron_time(const Cron&, const absl::TimeZone&, WallTime after);
}  // namespace moult
