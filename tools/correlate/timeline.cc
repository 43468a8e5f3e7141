#include "tools/correlate/timeline.h"

#include <algorithm>
#include <cstdio>

#include "master/report/timestamp.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

// Steps that a person can count in; of very long logs whole days.
Duration step_for(Duration length) {
  for (const Duration step : {Duration(10s), Duration(1min), Duration(5min), Duration(10min), Duration(30min),
                              Duration(1h), Duration(3h), Duration(6h), Duration(12h), Duration(24h)})
    if (length / step < static_cast<Duration::rep>(most_rows - 1)) return step;
  return (length / static_cast<Duration::rep>(most_rows - 1) / 24h + 1) * Duration(24h);
}

std::string bar(std::size_t count, char letter) {
  constexpr std::size_t longest = 25;
  return count <= longest ? std::string(count, letter) : std::string(longest - 1, letter) + "+";
}

std::string line_of(const TimelineRow& row) {
  char line[200];
  std::snprintf(line, sizeof line, "%.16s %5zu %-25s %6zu ", rfc3339(row.from).c_str(), row.recycles,
                bar(row.recycles, '#').c_str(), row.errors);
  const std::string text = line + bar(row.errors, 'x');
  return text.substr(0, text.find_last_not_of(' ') + 1);
}
}  // namespace

Timeline timeline(const std::vector<WallTime>& recycles, const std::vector<WallTime>& errors, WallTime from,
                  WallTime to) {
  Timeline result{step_for(to - from), {}};
  // Rounded down, also before 1970.
  const WallTime first = from - (from.time_since_epoch() % result.step + result.step) % result.step;
  for (WallTime at = first; at < to; at += result.step) result.rows.push_back({at});
  const auto count = [&](const std::vector<WallTime>& times, std::size_t TimelineRow::*which) {
    for (const WallTime at : times)
      if (at >= from && at < to) ++(result.rows[static_cast<std::size_t>((at - first) / result.step)].*which);
  };
  count(recycles, &TimelineRow::recycles);
  count(errors, &TimelineRow::errors);
  return result;
}

std::vector<std::string> lines_of(const Timeline& timeline) {
  std::vector<std::string> lines = {"from (UTC)       recycles                        errors"};
  bool empty = false;
  for (const TimelineRow& row : timeline.rows) {
    const bool before = empty;
    empty = row.recycles == 0 && row.errors == 0;
    if (!empty) lines.push_back(line_of(row));
    else if (!before) lines.push_back("...");
  }
  return lines;
}
}  // namespace moult
