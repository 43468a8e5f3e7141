#pragma once
// When to look at a worker again: rarely where nothing happens, often where a limit is near. Pure.
#include "base/clock.h"
#include "recycler/policy.h"
#include "recycler/record.h"
namespace moult {
// A quarter of the time in which it would reach its nearest limit, within [near, far]; within a tenth of a limit, or
// over it: near. Never after its lifetime's end.
MonotonicTime next_look(const WorkerRecord&, const RecyclePolicy&, MonotonicTime now);
// The next look must be a precise one: the last was the first over, and may have been statm's error.
bool next_look_is_precise(const WorkerRecord&, const RecyclePolicy&);
}  // namespace moult
