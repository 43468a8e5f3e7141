#pragma once
// The gate of this instance, wherever its ledger is kept: asked by the pool, looked at by report and by
// `moult fleet status`. On the loop's thread.
#include <functional>
#include <memory>

#include "lease/fleet_view.h"
#include "lease/gate.h"
#include "lease/gate_description.h"
namespace moult {
using FleetLook = std::shared_ptr<void>;  // letting go of it cancels

class FleetGate : public Gate {
 public:
  virtual void capacity_changed() = 0;  // after each step of the pool: what the fleet must know it is told
  // The ledger as it is now. `done` is called once, by the budget's end, never from inside this call.
  [[nodiscard]] virtual FleetLook look(Budget, std::function<void(Result<FleetView>)> done) = 0;
  virtual GateDescription describe() const = 0;
};
}  // namespace moult
