#pragma once
// What /metrics says of each part, from the part's own description. One file a part (metrics_of_*.cc); Metrics puts
// them together, with what it has heard and counted itself. On the loop's thread.
#include "lease/gate_description.h"
#include "master/connections/connection_keeper.h"
#include "master/connections/delivery.h"
#include "master/pool/supervisor.h"
#include "master/recycling/memory_watch.h"
#include "master/report/metric_families.h"
#include "master/sleep/ended_call.h"
#include "master/sleep/sleep_observer.h"
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
  const DeliveryDescription& delivery;
  const ScheduleDescription& schedule;
  const IdleDescription& idle;
  LostLines lost;
  std::uint64_t oom_kills;  // of workers, as far as that can be told
};

void add_workers(MetricFamilies&, const Measured&);
void add_recycling(MetricFamilies&, const RecyclingDescription&);
void add_gate(MetricFamilies&, const GateDescription&);
void add_lost_lines(MetricFamilies&, const LostLines&);
void add_connections(MetricFamilies&, const ParkingDescription&);
void add_delivery(MetricFamilies&, const DeliveryDescription&);  // nothing with --linger-timeout 0
void add_schedule(MetricFamilies&, const ScheduleDescription&);  // nothing where nothing is scheduled
void add_sleep(MetricFamilies&, const IdleDescription&);
}  // namespace moult
