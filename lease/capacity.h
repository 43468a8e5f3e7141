#pragma once
// What an instance has to serve with, as its gate asks it at every question. Pure.
#include "base/urgency.h"
namespace moult {
// At this moment.
struct Capacity {
  unsigned wanted, healthy;  // workers wanted (0: asleep or stopping); those of them that serve
  bool overlaps = false;     // headroom for two: a routine replacement's successor serves before it goes
};

// How many fewer serve while one is replaced: none if the successor serves first, which the last worker always gets.
inline unsigned replacement_cost(const Capacity& capacity, Urgency urgency) {
  const bool last = capacity.healthy <= 1;
  const bool successor_first = last || (capacity.overlaps && urgency == Urgency::routine);
  return successor_first ? 0 : 1;
}
}  // namespace moult
