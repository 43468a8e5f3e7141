#pragma once
// Which wanted slots are empty, and what do they wait for? Pure. Asked by the supervisor when it describes itself, so
// that the status explains why fewer workers serve than are wanted.
#include <optional>
#include <vector>

#include "master/pool/pool.h"
namespace moult {
struct WaitingSlot {
  unsigned slot;
  unsigned failed_boots;             // in a row, with workers that died soon after READY
  std::optional<Duration> retry_in;  // until the next attempt; none: there is no code that could be launched
};

// By number. A slot that a worker boots or serves in is none of them, nor one whose worker still retires and is
// replaced in place: that worker is there to be seen.
std::vector<WaitingSlot> waiting_slots(const Pool&, MonotonicTime now);
}  // namespace moult
