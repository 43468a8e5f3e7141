#pragma once
// How much may be said or asked: a bucket that fills slowly. Pure.
// The numbers are the log's, and a choice: 300 workers that start and stop at once say some 1,200 lines in one go, and
// a crash loop of that size stays below 20 lines a second, which is at most some 300 MB a day.
#include <algorithm>

#include "base/clock.h"
namespace moult {
inline constexpr double log_burst_lines = 2000;
inline constexpr double log_lines_per_second = 20;

struct RateBound {
  double burst = log_burst_lines, per_second = log_lines_per_second;
  double tokens = burst;
  MonotonicTime filled_at{};

  bool allows_one(MonotonicTime now) {
    const double seconds = std::chrono::duration<double>(std::max(now - filled_at, Duration::zero())).count();
    tokens = std::min(burst, tokens + seconds * per_second);
    filled_at = std::max(filled_at, now);
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  }
};
}  // namespace moult
