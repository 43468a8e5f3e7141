#pragma once
// What the pool has to serve with, in the gate's words. Pure.
#include "lease/capacity.h"
#include "master/pool/pool.h"
namespace moult {
// An instance that sleeps or stops wants nobody: the fleet does not miss its workers.
Capacity capacity_of(const Pool&);
}  // namespace moult
