#pragma once
// One line of a file that `moult run --events` wrote (docs/events.md), read. Pure.
//
// Keys and events that are not known are passed over: later versions add some. A key that is missing or null is "not
// known". A key that is used and has the wrong type makes the line malformed.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "base/urgency.h"
#include "recycler/reason.h"
namespace moult {
struct RecycleLine {
  WallTime at{};  // the process was gone
  std::string instance;
  std::optional<unsigned> slot;
  std::optional<Cause> cause;      // none: not said, or by a word of a later version
  std::optional<Urgency> urgency;  // likewise
  std::optional<std::uint64_t> rss_bytes, limit_bytes, hard_limit_bytes, boot_rss_bytes, requests;
  std::optional<double> lifetime_seconds, gap_seconds, cooldown_seconds, over_hard_seconds;
  std::optional<double> held_by_cooldown_seconds;  // zero: something else held it, or nothing; none: not said
};
struct EventLine {
  std::string event;
  WallTime at{};
  std::string instance;  // empty: not said
  std::optional<unsigned> slot;
  std::string reason;                  // of hold_started; empty: none
  std::optional<RecycleLine> recycle;  // of worker_recycled
};

// The error says in a few words what is wrong with the line: "not JSON", "rss_bytes is no number".
Result<EventLine> read_event_line(std::string_view line);
}  // namespace moult
