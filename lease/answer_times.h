#pragma once
// How long a gate's answers took, as a histogram that only grows. A plain value: counted by the gates, shown by
// metrics.
#include <array>
#include <cstdint>

#include "base/clock.h"
namespace moult {
struct AnswerTimes {
  // Upper ends. A healthy store answers within some ms; 250 ms are late (urgency_ladder.h); with the defaults an urgent
  // question waits for 2 to 4 s, a routine one for 5.
  static constexpr std::array<double, 8> bounds_seconds{0.005, 0.025, 0.1, 0.25, 1, 2, 4, 10};
  std::array<std::uint64_t, bounds_seconds.size() + 1> counts{};  // within each bound and over the last one before it
  Duration sum{};

  void add(Duration took) {
    const double seconds = std::chrono::duration<double>(took).count();
    std::size_t bucket = 0;
    while (bucket < bounds_seconds.size() && seconds > bounds_seconds[bucket]) ++bucket;
    ++counts[bucket];
    sum += took;
  }
};
}  // namespace moult
