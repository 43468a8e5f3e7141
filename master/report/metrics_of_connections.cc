// Client connections between two workers.
#include "master/report/measured_metrics.h"
namespace moult {
namespace {
prometheus::MetricFamily count(const char* name, const char* help, std::uint64_t value) {
  return counter(name, help, static_cast<double>(value));
}

prometheus::MetricFamily closed(const ParkingCounts& counts) {
  auto all = counters("moult_connections_parked_closed_total",
                      "Parked connections that ended: by their client, after --keep-alive, at a stop.");
  add(all, static_cast<double>(counts.closed_by_client), {{"why", "client"}});
  add(all, static_cast<double>(counts.timed_out), {{"why", "keep_alive"}});
  add(all, static_cast<double>(counts.closed_at_stop), {{"why", "stop"}});
  return all;
}
}  // namespace

void add_connections(MetricFamilies& all, const ParkingDescription& parking) {
  const ParkingCounts& counts = parking.counts;
  all.push_back(gauge("moult_connections_held", "Client connections that no worker has, between two workers.",
                      static_cast<double>(parking.held)));
  all.push_back(gauge("moult_connections_calling", "Parked connections whose clients wait for a worker.",
                      static_cast<double>(parking.callers)));
  all.push_back(count("moult_connections_parked_total", "Idle connections that workers gave up.", counts.parked));
  all.push_back(count("moult_connections_handed_over_total", "Those that another worker took.", counts.given));
  all.push_back(count("moult_connections_declined_total",
                      "Those not taken (no room, or lost on the way): their worker's.", counts.declined));
  all.push_back(count("moult_connections_refused_total", "Those whose client spoke, and got 503: no worker served.",
                      counts.refused));
  all.push_back(count("moult_connections_accepted_total",
                      "Connections that moult itself accepted: while the app slept, and the last at a stop.",
                      counts.accepted));
  all.push_back(count("moult_ignored_requests_total",
                      "Requests for --idle-ignore paths that moult answered itself while the app slept.",
                      parking.ignored_requests));
  all.push_back(closed(counts));
}
}  // namespace moult
