#include "master/pool/capacity_of.h"

#include <algorithm>
namespace moult {
namespace {
unsigned wanted(const Goal& goal) {
  switch (goal.mode) {
    case Mode::serve: return goal.workers;
    case Mode::sleep:
    case Mode::delay:
    case Mode::draining:
    case Mode::last:
    case Mode::quick:
    case Mode::finished: break;
  }
  return 0;
}
}  // namespace

Capacity capacity_of(const Pool& pool) {
  const auto serving = std::ranges::count(pool.workers, WorkerState::serving, &Worker::state);
  return {wanted(pool.goal), static_cast<unsigned>(serving), pool.headroom == Headroom::for_two};
}
}  // namespace moult
