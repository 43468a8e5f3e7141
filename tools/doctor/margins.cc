// Margins: how far above its limit a worker was when it went. Never a fault by itself: whoever looks often sees every
// worker just above its limit. It is told because it is so easily taken for one.
#include "tools/doctor/checks.h"
#include "tools/doctor/measures.h"
#include "tools/event_history/figures.h"
namespace moult {
namespace {
constexpr double small_margin_bytes = 25e6;  // the incident's report counted under 25 MB
}

Check check_margins(const History& history) {
  std::vector<double> margins;
  std::size_t small = 0;
  for (const RecycleLine& recycle : history.recycles) {
    if (!went_because_of_memory(recycle) || !recycle.rss_bytes || !recycle.limit_bytes) continue;
    margins.push_back(static_cast<double>(*recycle.rss_bytes) - static_cast<double>(*recycle.limit_bytes));
    if (margins.back() < small_margin_bytes) ++small;
  }
  Check check{.name = "margins", .title = "margins over the limit"};
  check.looks_at = "RSS - limit of each worker that went because of memory; under " + megabytes(small_margin_bytes) +
                   " is small. Never a fault by itself.";
  check.figures = {{"recycles", margins.size()}, {"within_25_mb", small}, {"median_bytes", percentile(margins, 50)}};
  if (margins.empty()) {
    check.level = Level::too_few;
    check.verdict = "Nobody went because of memory.";
    return check;
  }
  check.verdict = std::to_string(small) + " of " + std::to_string(margins.size()) + " workers (" +
                  number(100.0 * static_cast<double>(small) / static_cast<double>(margins.size())) +
                  " %) went within " + megabytes(small_margin_bytes) + " of their limit, half within " +
                  megabytes(percentile(margins, 50)) +
                  ". That is no fault: fast sampling makes every margin small. What counts is the runway.";
  return check;
}
}  // namespace moult
