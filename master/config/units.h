#pragma once
// Numbers with units, as people write them on a command line, in the environment and in a config file. Pure.
//
//   times   seconds ("30", "0.5"), or ms s m h ("250ms", "5m")
//   sizes   bytes ("1048576"), or kB MB GB (powers of 1000), KiB MiB GiB (powers of 1024), or % of the cgroup's memory
//           limit, which stays symbolic: the limit is known only where the process runs
//
// An error says what is wrong with the text ("'5x' is not a time: ..."); the caller puts before it where the text came
// from.
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
namespace moult {
using std::chrono::milliseconds;

struct Size {
  std::uint64_t bytes = 0;
  double percent = 0;  // of the cgroup's memory limit; not zero: `bytes` says nothing
  bool operator==(const Size&) const = default;
};
inline constexpr std::uint64_t most_bytes = std::uint64_t{1} << 50;  // 1 PiB: more is a slip of the hand

template <class T>
struct Range {
  T lowest, highest;  // both are allowed
};

Result<std::uint64_t> parse_number(std::string_view, Range<std::uint64_t>);  // decimal digits
Result<milliseconds> parse_time(std::string_view, Range<milliseconds>);      // rounded to milliseconds
Result<Size> parse_size(std::string_view);                                   // 1 to most_bytes; above 0 to 100 %
Result<double> parse_percent(std::string_view);                              // "8%": 0 to 100
Result<unsigned> parse_whole_percent(std::string_view);                      // likewise, without a fraction
Result<unsigned> parse_mode(std::string_view);                               // octal digits: 0 to 0777
Result<double> parse_rate(std::string_view);                                 // above 0, at most 1,000,000
Result<bool> parse_toggle(std::string_view);                                 // on off, true false, yes no, 1 0

std::string time_text(milliseconds);  // the shortest that parse_time reads back: "30s", "1500ms", "24h"
}  // namespace moult
