#pragma once
// What one or several event files tell, in the order of time. Pure; filled line by line. Used by doctor and correlate.
//
// Malformed lines are counted, with the first few as examples, and never fatal. Files of several instances are put
// together by their `at`, in whatever order they come: the shell puts events.jsonl before events.jsonl.1. A clock that
// was set shows as wrong order within a file, which is counted and mended by sorting.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/event_history/event_line.h"
#include "tools/event_history/input_line.h"
namespace moult {
inline constexpr std::size_t most_kept_events = 1'000'000;  // of those that are looked at; some 200 MB
inline constexpr std::size_t most_kept_workers = 100'000;   // slots of instances; more are not told apart
inline constexpr std::size_t most_kept_hours = 100'000;     // eleven years
inline constexpr std::size_t most_kept_examples = 3;        // of malformed lines

struct Malformed {
  std::size_t lines = 0;
  std::vector<std::string> examples;  // "events.jsonl:17: not JSON"
};
struct Silence {
  WallTime from{}, to{};
  Duration length() const { return to - from; }
};
struct History {
  std::size_t lines = 0, events = 0;  // lines that are not blank; those that are events
  Malformed malformed;
  std::size_t backward_steps = 0;  // how often an instance's line was older than the one before it in its file
  WallTime first{}, last{};        // of any event; equal where there are fewer than two
  std::vector<RecycleLine> recycles;
  std::set<std::pair<std::string, unsigned>> worker_slots;  // of each instance
  std::set<std::string> instances;                          // likewise at most most_kept_workers
  std::optional<Silence> longest_silence;                   // to whole hours; none: there are too many of them to say
  std::size_t futile_pressure_events = 0, nothing_to_free_holds = 0;
};

class HistoryReader {
 public:
  // Fails only where there is more than can be kept: says to cut the file.
  Result<void> add(const std::string& file, const InputLine&);
  History finish();  // sorted

 private:
  void add_malformed(const std::string& file, std::size_t line, const std::string& why);
  void note(const EventLine&);
  std::optional<Silence> longest_silence() const;

  History history_;
  std::string file_;                                           // that lines come from now
  std::map<std::string, WallTime> latest_;                     // of each instance in it
  std::set<std::chrono::sys_time<std::chrono::hours>> hours_;  // with an event
};
}  // namespace moult
