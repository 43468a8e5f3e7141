#pragma once
// Which gate an instance has: LocalGate where it is its own fleet, FallbackGate where a store decides.
#include <uv.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lease/capacity.h"
#include "lease/fleet_gate.h"
#include "lease/redis_connection.h"
#include "lease/store_news.h"
namespace moult {
struct FleetStore {
  RedisOptions connection;
  std::string fleet;                                // --fleet-name: instances of one name share one ledger
  Duration urgent_wait = std::chrono::seconds(2);   // --urgent-wait
  std::function<void(const StoreNews&)> news = {};  // as RedisGateOptions::news
  std::function<void()> lease_lost = {};            // as RedisGateOptions::lease_lost
};
struct GateOptions {
  FleetPolicy policy;
  std::string instance;             // unlike every other instance's of the fleet, and the same after a restart
  std::optional<FleetStore> store;  // none: --fleet local
};
// `capacity` is asked at every question and heartbeat, as long as the gate lives.
std::unique_ptr<FleetGate> make_gate(uv_loop_t*, const GateOptions&, std::function<Capacity()> capacity);
}  // namespace moult
