#pragma once
// A canary's file: one line an error that a client saw, as JSON with a moment in one of its keys, or as any text with a
// moment in it (moment.h). Read by correlate's main; `add` is pure.
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "tools/event_history/line_reader.h"
namespace moult {
inline constexpr std::size_t most_canaries = 1'000'000;

struct Canary {
  std::vector<WallTime> times;  // sorted
  std::size_t lines = 0;
  std::size_t without_moment = 0;  // lines that are left out
  std::size_t without_zone = 0;    // taken as UTC
};

// A moment in the keys "at", "time", "timestamp", "ts", "@timestamp", "datetime" or "date", as text or as unix time.
Result<void> add(Canary&, const std::string& file, const InputLine&);
// "-" is stdin. Fails where it cannot be read, or where there are lines and none has a moment.
Result<Canary> read_canary(const std::string& path);
}  // namespace moult
