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

// None: it does not wait for anything but the gate's answer, or is on its way out.
std::optional<HeldBack> held_back(const Pool&, const Worker&, MonotonicTime now);
}  // namespace moult
