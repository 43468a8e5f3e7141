// What is on its way to clients.
#include "master/report/linger_report.h"
#include "master/report/measured_metrics.h"
namespace moult {
void add_delivery(MetricFamilies& all, const DeliveryDescription& delivery) {
  if (delivery.patience == Duration::zero()) return;
  all.push_back(gauge("moult_lingers_watched", "Connections watched until all that was sent has arrived.",
                      static_cast<double>(delivery.watched)));
  all.push_back(gauge("moult_lingers_fail_closed",
                      "Those that take nothing and cannot be aborted: they keep the app awake.",
                      static_cast<double>(delivery.fail_closed)));
  auto ended = counters("moult_lingers_total",
                        "Connections watched to their end, by how it ended: delivered, reset (by the client), aborted "
                        "(by us), fail_closed (could not be), unwatched (one too many, or the watch ended before).");
  for (const auto& [outcome, count] : linger_outcomes(delivery.counts))
    add(ended, static_cast<double>(count), {{"outcome", outcome}});
  all.push_back(std::move(ended));
}
}  // namespace moult
