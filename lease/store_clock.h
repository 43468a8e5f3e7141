#pragma once
// What the store's clock shows, as far as we know: learnt from a TIME that the store told. Pure.
//
// The store read its clock before we read ours, so what this says is behind by at most one way back: an operation's end
// that is written in it lies early, never late. Nobody's wall clock is asked but the store's.
#include <chrono>

#include "base/clock.h"
namespace moult {
struct StoreClock {
  using Time = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

  std::chrono::microseconds ahead{};  // the store's time since 1970 minus our monotonic time

  static StoreClock told(Time store, MonotonicTime heard) {
    return {store.time_since_epoch() - std::chrono::ceil<std::chrono::microseconds>(heard.time_since_epoch())};
  }
  // Later than the clock can count (a budget that never ends): as late as it can.
  Time at(MonotonicTime ours) const {
    const auto time = std::chrono::floor<std::chrono::microseconds>(ours.time_since_epoch());
    if (ahead > std::chrono::microseconds::zero() && time > std::chrono::microseconds::max() - ahead)
      return Time::max();
    return Time(time + ahead);
  }
};
}  // namespace moult
