#include "master/pool/trouble.h"

#include <algorithm>
namespace moult {
bool overcome(const Trouble& trouble, const Pool& pool, Duration stable_after, MonotonicTime now) {
  if (trouble.slot && *trouble.slot >= pool.goal.workers) return true;  // nobody wants that slot any more
  if (trouble.of_a_spare && pool.goal.spares == 0) return true;
  return std::ranges::any_of(pool.workers, [&](const Worker& w) {
    const bool same_place = !trouble.slot || w.slot == trouble.slot;
    const bool is_up = w.state == WorkerState::serving || (trouble.of_a_spare && w.state == WorkerState::spare);
    return same_place && is_up && w.generation >= trouble.generation && w.since > trouble.at &&
           now - w.since >= stable_after;
  });
}
}  // namespace moult
