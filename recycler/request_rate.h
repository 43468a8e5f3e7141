#pragma once
// How many requests a second a worker finishes, from a count that only rises. Pure.
#include <chrono>
#include <cstdint>

#include "base/clock.h"
namespace moult {
// Of the last whole stretch of at least this: shorter ones would make one request look like many.
inline constexpr Duration rate_stretch = std::chrono::seconds(1);

struct RequestRate {
  double per_second = 0;
  std::uint64_t counted = 0;  // at the beginning of the stretch
  MonotonicTime since{};      // zero: nothing counted yet
};

inline RequestRate count(RequestRate rate, std::uint64_t requests, MonotonicTime now) {
  if (rate.since == MonotonicTime{}) return {0, requests, now};
  if (now - rate.since < rate_stretch) return rate;
  const double seconds = std::chrono::duration<double>(now - rate.since).count();
  const double finished = requests > rate.counted ? static_cast<double>(requests - rate.counted) : 0;
  return {finished / seconds, requests, now};
}
}  // namespace moult
