#pragma once
// The series of scheduled calls, made of a picture of the schedule. Pure. Labels are outcomes and the names of entries,
// of which there are at most most_scheduled_calls.
#include <prometheus/metric_family.h>

#include <vector>

#include "master/sleep/ended_call.h"
namespace moult {
// None where nothing is scheduled.
std::vector<prometheus::MetricFamily> schedule_metrics(const ScheduleDescription&);
}  // namespace moult
