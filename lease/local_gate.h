#pragma once
// The gate of an instance that is its own fleet (`--fleet local`): the ledger in this process. Made by Instance, asked
// by the Supervisor, looked at by report. On the loop's thread.
//
// No store, so nothing to wait for: an urgent recycle that the bucket no longer affords goes ahead ungated at once and
// is debited, unless too few would serve. The ledger's clock is the loop's, which nobody can set.
#include <uv.h>

#include <functional>
#include <memory>
#include <string>

#include "base/budget_timer.h"
#include "lease/capacity.h"
#include "lease/fleet_gate.h"
#include "lease/fleet_policy.h"
namespace moult {
class LocalGate final : public FleetGate {
 public:
  LocalGate(uv_loop_t*, const FleetPolicy&, std::string instance, std::function<Capacity()>);
  ~LocalGate() override;
  LocalGate(const LocalGate&) = delete;
  LocalGate& operator=(const LocalGate&) = delete;

  // A Grant may outlive the gate, but not the loop; a question outliving it is never answered.
  std::unique_ptr<Grant> acquire(AskId operation, Urgency, Budget, std::function<void(GateAnswer)> answered) override;
  void capacity_changed() override {}  // it is asked for with each question
  void leave(Budget, std::function<void()> gone) override;
  [[nodiscard]] FleetLook look(Budget, std::function<void(Result<FleetView>)> done) override;
  GateDescription describe() const override;

 private:
  class Book;
  class LocalGrant;
  std::shared_ptr<Book> book_;
  std::unique_ptr<BudgetTimer> farewell_;
};
}  // namespace moult
