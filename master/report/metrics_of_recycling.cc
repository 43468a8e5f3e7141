// How long workers live, how long they are over their hard limits, and how much memory is left. How often they are
// replaced is counted by Metrics.
#include "master/report/measured_metrics.h"
namespace moult {
void add_recycling(MetricFamilies& all, const RecyclingDescription& recycling) {
  if (recycling.lifetimes.samples > 0)
    all.push_back(gauge("moult_recycled_worker_requests_p10",
                        "Of the last workers that went because of memory: a tenth served at most so many requests.",
                        static_cast<double>(recycling.lifetimes.p10)));
  all.push_back(gauge("moult_lifetime_alarm", "1 while workers live too short.", recycling.alarm ? 1 : 0));
  all.push_back(counter("moult_worker_over_hard_limit_seconds_total",
                        "How long workers were over their hard limits, all together.",
                        std::chrono::duration<double>(recycling.over_hard).count()));
  all.push_back(counter("moult_memory_shortages_total",
                        "Times that the headroom fell below --min-headroom: workers may then go by pressure.",
                        static_cast<double>(recycling.times_short)));
  if (recycling.headroom_bytes == no_limit) return;  // it cannot be read
  all.push_back(gauge("moult_headroom_bytes", "What this instance may still allocate.",
                      static_cast<double>(recycling.headroom_bytes)));
  all.push_back(gauge("moult_min_headroom_bytes", "With less headroom than this memory is short (--min-headroom).",
                      static_cast<double>(recycling.min_headroom_bytes)));
}
}  // namespace moult
