#include "master/pool/trouble.h"

#include <algorithm>
namespace moult {
bool overcome(const Trouble& trouble, const Pool& pool, Duration stable_after, MonotonicTime now) {
  if (trouble.slot && *trouble.slot >= pool.goal.workers) return true;  // nobody wants that slot any more
  return std::ranges::any_of(pool.workers, [&](const Worker& w) {
    const bool same_place = !trouble.slot || w.slot == trouble.slot;
    return same_place && w.state == WorkerState::serving && w.generation >= trouble.generation &&
           w.since > trouble.at && now - w.since >= stable_after;
  });
}
}  // namespace moult
