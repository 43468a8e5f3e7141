#pragma once
// The ledger of one instance alone, in this process and by the loop's clock, which nobody can set. All that LocalGate
// has, and what FallbackGate counts in while the store is away. On the loop's thread.
#include <uv.h>

#include <string>
#include <utility>

#include "base/machine.h"
#include "lease/capacity.h"
#include "lease/ledger.h"
namespace moult {
class OwnLedger {
 public:
  OwnLedger(uv_loop_t* loop, const FleetPolicy& policy, std::string instance)
      : loop_(loop), settings_{policy, std::move(instance), now()} {}

  static StoreTime time_of(MonotonicTime at) {
    return StoreTime(std::chrono::duration_cast<std::chrono::microseconds>(at.time_since_epoch()));
  }
  const FleetPolicy& policy() const { return settings_.policy; }
  const std::string& instance() const { return settings_.of; }

  LedgerAnswer apply(const LedgerRequest& request) {
    LedgerStep step = moult::apply(std::move(ledger_), request, settings_, now());
    ledger_ = std::move(step.ledger);
    return std::move(step.answer);
  }
  LedgerAnswer acquire(AskId operation, Urgency urgency, StoreTime end, const Capacity& capacity) {
    return apply(Acquire{operation,
                         settings_.of,
                         urgency,
                         end,
                         {settings_.of, capacity.wanted, capacity.healthy},
                         replacement_cost(capacity, urgency)});
  }
  FleetView look() const { return std::get<FleetView>(moult::apply(ledger_, Look{}, settings_, now()).answer); }

 private:
  StoreTime now() const { return time_of(monotonic_now(loop_)); }

  uv_loop_t* loop_;
  FleetSettings settings_;
  Ledger ledger_;
};
}  // namespace moult
