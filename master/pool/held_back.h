#pragma once
// A worker is to go (its decision says Recycle) and is still there: what does the pool wait for? Pure. Asked by
// recycling/hold_log after each step of the pool, so that a wait explains itself.
#include <optional>

#include "master/pool/pool.h"
namespace moult {
struct HeldBack {
  HoldReason why;
  MonotonicTime until;  // it ends or is judged again by then; never: with the turn that is in hand
};

// None: it is not to go, or it is on its way out, or it is asked about at this moment (below).
std::optional<HeldBack> held_back(const Pool&, const Worker&, MonotonicTime now);
// It is to go, and the gate has a question of its rank or a higher one: until the answer is there nobody knows whether
// it waits.
bool gate_is_asked(const Pool&, const Worker&);
}  // namespace moult
