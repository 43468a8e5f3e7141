#pragma once
// Tells the gate that the pool has changed: whoever sleeps, stops or wakes, the fleet hears of at once. Owned by
// Instance.
#include "lease/fleet_gate.h"
#include "master/pool/capacity_of.h"  // what the gate asks for then
#include "master/pool/worker_observer.h"
namespace moult {
class CapacityTeller final : public WorkerObserver {
 public:
  explicit CapacityTeller(FleetGate& gate) : gate_(gate) {}
  void pool_settled(const Pool&) override { gate_.capacity_changed(); }

 private:
  FleetGate& gate_;
};
}  // namespace moult
