// How long workers live, and how much memory is left. How often they are replaced is counted by Metrics.
#include "master/report/measured_metrics.h"
namespace moult {
void add_recycling(MetricFamilies& all, const RecyclingDescription& recycling) {
  if (recycling.lifetimes.samples > 0)
    all.push_back(gauge("moult_recycled_worker_requests_p10",
                        "Of the last workers that went because of memory: a tenth served at most so many requests.",
                        static_cast<double>(recycling.lifetimes.p10)));
  all.push_back(gauge("moult_lifetime_alarm", "1 while workers live too short.", recycling.alarm ? 1 : 0));
  if (recycling.headroom_bytes != no_limit)
    all.push_back(gauge("moult_headroom_bytes", "What this instance may still allocate.",
                        static_cast<double>(recycling.headroom_bytes)));
}
}  // namespace moult
