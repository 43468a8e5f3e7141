#pragma once
// A cause that comes again and again is said once, then counted, and the count is said once a minute. One that was not
// heard for ten minutes is new again. Pure.
// "The same" is: equal but for numbers, since pids, addresses and times differ from try to try.
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
namespace moult {
inline constexpr Duration repeat_said_every = std::chrono::minutes(1);
inline constexpr Duration cause_forgotten_after = std::chrono::minutes(10);

struct RepeatedCause {
  std::string likeness;       // of the last cause; empty: none
  std::uint64_t repeats = 0;  // of it, after the first time
  std::uint64_t unsaid = 0;   // of those
  MonotonicTime said_at{}, heard_at{};
};

struct CauseNews {
  bool is_new;                   // to be said in full
  std::uint64_t same_before;     // how often this very cause came before, in a row
  std::uint64_t more_times = 0;  // not zero: say that the (former) one came so many more times
};

CauseNews heard(RepeatedCause&, const std::string& cause, MonotonicTime now);
// It is over. How many times are still to be said; zero: nothing.
std::uint64_t ended(RepeatedCause&);
std::string likeness(const std::string& cause);
}  // namespace moult
