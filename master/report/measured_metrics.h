#pragma once
// What /metrics says of each part, from the part's own description. One file a part (metrics_of_*.cc); Metrics puts
// them together, with what it has heard and counted itself. On the loop's thread.
#include "lease/gate_description.h"
#include "master/connections/connection_keeper.h"
#include "master/pool/supervisor.h"
#include "master/recycling/memory_watch.h"
#include "master/report/metric_families.h"
namespace moult {
// Of one moment.
struct Measured {
  const SupervisorDescription& pool;
  const RecyclingDescription& recycling;
  const GateDescription& gate;
  const ParkingDescription& parking;
};

void add_workers(MetricFamilies&, const SupervisorDescription&, const RecyclingDescription&);
void add_recycling(MetricFamilies&, const RecyclingDescription&);
void add_gate(MetricFamilies&, const GateDescription&);
void add_connections(MetricFamilies&, const ParkingDescription&);
}  // namespace moult
