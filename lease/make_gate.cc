#include "lease/make_gate.h"

#include "lease/fallback_gate.h"
#include "lease/local_gate.h"
namespace moult {
std::unique_ptr<FleetGate> make_gate(uv_loop_t* loop, const GateOptions& options, std::function<Capacity()> capacity) {
  if (!options.store) return std::make_unique<LocalGate>(loop, options.policy, options.instance, std::move(capacity));
  const FleetStore& store = *options.store;
  return std::make_unique<FallbackGate>(
      loop,
      FallbackOptions{{store.connection, store.fleet, options.instance, options.policy, store.news, store.lease_lost},
                      store.urgent_wait},
      std::move(capacity));
}
}  // namespace moult
