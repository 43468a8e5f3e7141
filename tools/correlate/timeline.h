#pragma once
// Recycles and errors side by side, in steps that make a page of the log. Pure.
#include <string>
#include <vector>

#include "base/clock.h"
namespace moult {
inline constexpr std::size_t most_rows = 48;

struct TimelineRow {
  WallTime from;
  std::size_t recycles = 0, errors = 0;
};
struct Timeline {
  Duration step;
  std::vector<TimelineRow> rows;  // all of them, also empty ones
};
// The times are sorted; those outside are left out.
Timeline timeline(const std::vector<WallTime>& recycles, const std::vector<WallTime>& errors, WallTime from,
                  WallTime to);
// Empty stretches in one line.
std::vector<std::string> lines_of(const Timeline&);
}  // namespace moult
