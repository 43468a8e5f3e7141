#pragma once
// The gate that the master asks where a store decides (`--fleet redis://...`): the store's answer while there is one,
// and what DESIGN calls urgency while there is none. Made by Instance, asked by the Supervisor, looked at by report. On
// the loop's thread.
//
// Routine questions hold with `store_unreachable` while the store is away. Urgent ones wait for it and for the lease
// (urgency_ladder.h), and then go ungated: unless too few of this instance's own workers would serve, debited in a
// ledger of its own at once, and in the store when it is back. Requests to the app never depend on any of this.
#include <functional>
#include <memory>

#include "lease/fleet_gate.h"
#include "lease/redis_gate.h"
namespace moult {
struct FallbackOptions {
  RedisGateOptions store;
  Duration urgent_wait = std::chrono::seconds(2);  // --urgent-wait
};

class FallbackGate final : public FleetGate {
 public:
  FallbackGate(uv_loop_t*, FallbackOptions, std::function<Capacity()>);
  ~FallbackGate() override;
  FallbackGate(const FallbackGate&) = delete;
  FallbackGate& operator=(const FallbackGate&) = delete;

  // A Grant may outlive the gate, but not the loop; a question outliving it is never answered.
  std::unique_ptr<Grant> acquire(AskId, Urgency, Budget, std::function<void(GateAnswer)> answered) override;

  void on_waiting(Waiting told) override;
  void capacity_changed() override;  // somebody sleeps, stops or wakes: told to the fleet at once
  void leave(Budget, std::function<void()> gone) override;
  [[nodiscard]] FleetLook look(Budget, std::function<void(Result<FleetView>)> done) override;
  // Refusals and grants as the pool saw them, and what an ungated one was refused for; tokens of the fleet as last
  // heard, while the store is away of this instance's own ledger.
  GateDescription describe() const override;

 private:
  class Core;
  class FallbackGrant;
  std::shared_ptr<Core> core_;
};
}  // namespace moult
