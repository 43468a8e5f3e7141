// What moult wanted to say, and nobody took.
#include "master/report/measured_metrics.h"
namespace moult {
void add_lost_lines(MetricFamilies& all, const LostLines& lost) {
  all.push_back(counter("moult_log_lines_dropped_total",
                        "Lines of the log and of workers that were lost: not read, no room, or too many at once.",
                        static_cast<double>(lost.of_the_log)));
  all.push_back(counter("moult_events_dropped_total", "Events that did not get into the file of --events.",
                        static_cast<double>(lost.events)));
}
}  // namespace moult
