#include "tools/event_history/figures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "master/report/timestamp.h"
namespace moult {
namespace {
std::string formatted(const char* format, double value) {
  char text[400];  // the longest double has 309 digits before its point
  std::snprintf(text, sizeof text, format, value);
  return text;
}
}  // namespace

std::string number(double value) { return formatted(std::fabs(value) >= 999.5 ? "%.0f" : "%.3g", value); }

std::string megabytes(double bytes) {
  const double size = bytes / 1e6;
  return formatted(std::fabs(size) < 10 ? "%.2g MB" : "%.0f MB", size);
}

double in_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string duration_text(double seconds) {
  constexpr double minute = 60, hour = 3600, day = 24 * hour;
  if (seconds < 10 * minute) return number(seconds) + " s";
  if (seconds < 2 * hour) return number(seconds / minute) + " min";
  if (seconds < 3 * day) return number(seconds / hour) + " h";
  return number(seconds / day) + " days";
}

std::string counted(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

double percentile(std::vector<double> values, unsigned percent) {
  if (values.empty()) return 0;
  const std::size_t rank = std::max<std::size_t>((values.size() * percent + 99) / 100, 1) - 1;
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(rank));
  return values[rank];
}

std::string extent(const History& history) {
  const double seconds = std::chrono::duration<double>(history.last - history.first).count();
  std::string text = counted(history.instances.size(), "instance", "instances") + ", " +
                     counted(history.worker_slots.size(), "worker", "workers");
  if (history.events == 0) return text + ", no events yet";
  return text + ", from " + rfc3339(history.first) + " to " + rfc3339(history.last) + " (" + duration_text(seconds) +
         ")";
}

std::vector<std::string> reading_remarks(const History& history) {
  std::vector<std::string> lines;
  if (const std::size_t malformed = history.malformed.lines) {
    lines.push_back(counted(malformed, "line is", "lines are") + " malformed and left out; the first:");
    for (const std::string& example : history.malformed.examples) lines.push_back("  " + example);
  }
  if (history.backward_steps > 0)
    lines.push_back(counted(history.backward_steps, "line is older than the one before it",
                            "lines are older than the one before them") +
                    " (files were joined in another order, or the clock was set): rates around then are not to be "
                    "relied on");
  return lines;
}
}  // namespace moult
