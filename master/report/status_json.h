#pragma once
// The status document (DESIGN §11, Status), for `moult status --json`, the control socket and /status.json. Pure: it
// only formats what it is given. Called on the loop's thread and on admin threads. Keys of features that this instance
// does not have are absent, and readers accept that.
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "lease/gate_description.h"
#include "master/connections/connection_keeper.h"
#include "master/connections/delivery.h"
#include "master/pool/supervisor.h"
#include "master/recycling/memory_watch.h"
#include "master/report/recent_recycles.h"
#include "master/sleep/ended_call.h"
#include "master/sleep/sleep_observer.h"
namespace moult {
struct StatusFacts {  // what the pool does not know
  std::string version;
  std::string name;    // of the instance, -n
  std::string server;  // "uvicorn 0.17.6", as the fork server said; empty: unknown
  pid_t pid;           // the master's
  Duration uptime;     // its
  std::uint64_t log_lines_dropped = 0, events_dropped = 0;
  MonotonicTime now = {};  // of the description: what ends later is told as the time that is left
};

// One line without a newline.
std::string status_json(const SupervisorDescription&, const StatusFacts&, const RecyclingDescription& = {},
                        const GateDescription& = {}, const ParkingDescription& = {}, const DeliveryDescription& = {},
                        const RecentRecycles* = nullptr, const ScheduleDescription& = {},
                        const IdleDescription* = nullptr);
}  // namespace moult
