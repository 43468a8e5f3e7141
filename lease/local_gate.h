#pragma once
// The gate of an instance that is its own fleet (`--fleet local`): the ledger in this process. Made by Instance, asked
// by the Supervisor, looked at by report. On the loop's thread.
//
// No store, so nothing to wait for: an urgent recycle that the bucket no longer affords goes ahead ungated at once and
// is debited, unless too few would serve. The ledger's clock is the loop's, which nobody can set.
#include <uv.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "lease/fleet_policy.h"
#include "lease/fleet_view.h"
#include "lease/gate.h"
namespace moult {
// What this instance has to serve with, at this moment.
struct Capacity {
  unsigned wanted, healthy;  // workers wanted (0: asleep or stopping); those of them that serve
  bool overlaps = false;     // headroom for two: a routine replacement's successor serves before it goes
};
// How many fewer serve while one is replaced: none if the successor serves first, which the last worker always gets.
unsigned replacement_cost(const Capacity&, Urgency);

struct GateDescription {
  const char* kind;  // "local"
  bool lease_held;
  double tokens;
  std::array<std::uint64_t, 5> refusals;  // indexed by Refusal
  std::uint64_t granted, ungated;         // granted counts both
};

class LocalGate final : public Gate {
 public:
  LocalGate(uv_loop_t*, const FleetPolicy&, std::string instance, std::function<Capacity()>);
  ~LocalGate() override;
  LocalGate(const LocalGate&) = delete;
  LocalGate& operator=(const LocalGate&) = delete;

  // A Grant may outlive the gate, but not the loop; a question outliving it is never answered.
  std::unique_ptr<Grant> acquire(AskId operation, Urgency, Budget, std::function<void(GateAnswer)> answered) override;
  GateDescription describe() const;
  FleetView look() const;

 private:
  class Book;
  class LocalGrant;
  std::shared_ptr<Book> book_;
};
}  // namespace moult
