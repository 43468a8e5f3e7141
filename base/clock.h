#pragma once
#include <chrono>
namespace moult {
using Duration = std::chrono::nanoseconds;
using MonotonicTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;
inline constexpr MonotonicTime never = MonotonicTime::max();
struct Clocks {
  MonotonicTime monotonic;
  WallTime wall;
};  // both read in the same moment
}  // namespace moult
