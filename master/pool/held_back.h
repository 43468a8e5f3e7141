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

// None: it is not to go, or it is on its way out, or the gate is asked about it and has not said yet that this takes
// long.
std::optional<HeldBack> held_back(const Pool&, const Worker&, MonotonicTime now);
// It is to go, and the gate has a question of its rank or a higher one.
bool gate_is_asked(const Pool&, const Worker&);
bool is_of_the_gate(HoldReason);  // its next answer may be the same
}  // namespace moult
