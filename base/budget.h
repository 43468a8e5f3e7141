#pragma once
// One monotonic end for one operation, made where the operation begins. Everything that the operation does
// (connecting, waiting, retrying) draws on it; a wait that does not fit is not begun (DESIGN, "One operation, one
// budget"). Cancelling is destroying the operation's handle: a Budget has no state.
#include <algorithm>

#include "base/clock.h"
namespace moult {
struct Budget {
  MonotonicTime end;

  Duration left(MonotonicTime now) const { return std::max(Duration::zero(), end - now); }
  bool spent(MonotonicTime now) const { return now >= end; }
  bool affords(Duration wait, MonotonicTime now) const { return wait < left(now); }
};
}  // namespace moult
