#pragma once
// The recycles in hand: gathers of each what its one event line will say, from the moment it begins until its process
// is gone. Pure. Used by MemoryWatch alone. How long workers lived, and the alarm, follow from it.
#include <map>
#include <optional>

#include "master/pool/exit.h"
#include "master/recycling/recycle_record.h"
namespace moult {
class Recycles {
 public:
  explicit Recycles(const AlarmPolicy& alarm) : alarm_(alarm) {}

  void begun(const Worker&, pid_t, const BeginRecycle&, const Granted&, std::vector<HeldFor> holds, MonotonicTime now);
  // RETIRE was sent: to somebody whose recycle is in hand, or to anyone. `freed_bytes`: what is its own.
  // Of one that counts no requests (none), nothing is learnt of how long workers live.
  AlarmChange retiring(const Worker&, std::optional<std::uint64_t> requests, std::uint64_t freed_bytes,
                       MonotonicTime now);
  // A turn that ended without a RETIRE was no recycle: called after each step of the pool.
  void forget_abandoned(const Pool&);
  struct LastLook {
    std::uint64_t requests = 0, handed_over = 0;
  };
  // None: it was not recycled.
  std::optional<RecycleRecord> gone(const Worker&, const Exit&, const LastLook&, MonotonicTime now);

  bool in_hand(WorkerId id) const { return in_hand_.contains(id); }
  std::optional<Cause> cause(WorkerId) const;
  const std::optional<MonotonicTime>& last_at() const { return last_at_; }
  const Lifetimes& lifetimes() const { return lifetimes_; }

 private:
  struct InHand {
    RecycleRecord record;
    MonotonicTime decided_at;
    std::optional<MonotonicTime> retired_at;
  };
  AlarmPolicy alarm_;
  std::map<WorkerId, InHand> in_hand_;
  std::optional<MonotonicTime> last_at_;
  Lifetimes lifetimes_;
};
}  // namespace moult
