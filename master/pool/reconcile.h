#pragma once
#include "master/pool/pool.h"
namespace moult {
// Turns desired minus actual into actions, and records in `pool` what it asked for.
void reconcile(Pool& pool, const PoolPolicy&, MonotonicTime now, std::vector<PoolAction>& actions);
}  // namespace moult
