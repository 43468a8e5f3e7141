#pragma once
// What a form of the ledger must do to be tested.
#include "lease/ledger.h"
namespace moult {
class LedgerSubject {
 public:
  virtual ~LedgerSubject() = default;
  virtual LedgerAnswer ask(const LedgerRequest&, const FleetSettings& offered, StoreTime now) = 0;
  virtual void forget_everything() = 0;  // a store that was restarted without persistence
};
}  // namespace moult
