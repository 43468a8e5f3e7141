#pragma once
// Times as documents and log lines of moult have them. Pure.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "base/clock.h"
namespace moult {
// Milliseconds are enough, and 0.1 is written as 0.1.
inline double seconds(Duration duration) {
  return std::round(std::chrono::duration<double, std::milli>(duration).count()) / 1000;
}

// "0.25 s", "41.3 s", "1800 s".
inline std::string seconds_text(Duration duration) {
  const double given = std::chrono::duration<double>(duration).count();
  char text[40];
  std::snprintf(text, sizeof text, given < 1000 ? "%.3g s" : "%.0f s", given);
  return text;
}

// "4 s": of a time that is left, in whole seconds, rounded up and never nothing.
inline std::string seconds_left_text(Duration duration) {
  const auto whole = std::chrono::ceil<std::chrono::seconds>(duration);
  return std::to_string(std::max<std::chrono::seconds::rep>(whole.count(), 1)) + " s";
}
}  // namespace moult
