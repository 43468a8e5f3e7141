#pragma once
// The gate of this instance, wherever its ledger is kept: asked by the pool, looked at by report and by
// `moult fleet status`. On the loop's thread.
#include <functional>
#include <memory>

#include "lease/fleet_view.h"
#include "lease/gate.h"
#include "lease/gate_description.h"
namespace moult {
// The end of the process is not put off for longer by a store that does not answer: ten round trips to a far one.
inline constexpr Duration longest_farewell = std::chrono::seconds(1);

using FleetLook = std::shared_ptr<void>;  // letting go of it cancels

class FleetGate : public Gate {
 public:
  virtual void capacity_changed() = 0;  // after each step of the pool: what the fleet must know it is told
  // The last word: nobody is wanted here any more. `gone` is called once, when the fleet knows it or at the budget's
  // end; never from inside this call, and not once the gate is destroyed.
  virtual void leave(Budget, std::function<void()> gone) = 0;
  // The ledger as it is now. `done` is called once, by the budget's end, never from inside this call.
  [[nodiscard]] virtual FleetLook look(Budget, std::function<void(Result<FleetView>)> done) = 0;
  virtual GateDescription describe() const = 0;
};
}  // namespace moult
