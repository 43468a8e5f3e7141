#pragma once
// What /metrics says of each part, from the part's own description. One file a part (metrics_of_*.cc); Metrics puts
// them together, with what it has heard and counted itself. On the loop's thread.
#include "lease/gate_description.h"
#include "master/connections/connection_keeper.h"
#include "master/pool/supervisor.h"
#include "master/recycling/memory_watch.h"
#include "master/report/metric_families.h"
namespace moult {
struct LostLines {
  std::uint64_t of_the_log, events;  // events: of --events FILE
};
// Of one moment.
struct Measured {
  const SupervisorDescription& pool;
  const RecyclingDescription& recycling;
  const GateDescription& gate;
  const ParkingDescription& parking;
  LostLines lost;
  std::uint64_t oom_kills;  // of workers, as far as that can be told
};

void add_workers(MetricFamilies&, const Measured&);
void add_recycling(MetricFamilies&, const RecyclingDescription&);
void add_gate(MetricFamilies&, const GateDescription&);
void add_lost_lines(MetricFamilies&, const LostLines&);
void add_connections(MetricFamilies&, const ParkingDescription&);
}  // namespace moult
