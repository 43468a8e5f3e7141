#include "master/instance_schedule.h"

#include <algorithm>

#include "master/pool/capacity_of.h"
namespace moult::options {
std::unique_ptr<Caller> make_caller(uv_loop_t* loop, const Config& config, const GateOptions& gate, const Doors& doors,
                                    Supervisor& supervisor, Reporting& reporting) {
  const auto& calls = config.schedule.calls;
  const bool sleeps = config.sleep.idle > milliseconds::zero();
  auto caller = std::make_unique<Caller>(
      loop, CallerOptions{{calls}, doors.internal.path(), sleeps ? std::optional(idle(config)) : std::nullopt},
      CallerParts{[&supervisor] { return capacity_of(supervisor.pool()).healthy > 0; },
                  [&reporting](const EndedCall& call) { reporting.call_ended(call); }});
  reporting.warn(caller->warnings());
  const bool any_of_the_fleet = std::ranges::find(calls, Scope::fleet, &ScheduledCall::scope) != calls.end();
  if (any_of_the_fleet && gate.store)
    caller->claim_with(std::make_unique<CallClaims>(loop, gate.store->connection, gate.store->fleet, gate.instance,
                                                    [to = caller.get()](const LostCall& call) { to->lost(call); }));
  return caller;
}
}  // namespace moult::options
