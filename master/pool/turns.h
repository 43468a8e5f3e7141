#pragma once
// The replacements in hand (states: pool.h). Called by reconcile, in this order. Pure.
#include "master/pool/pool.h"
namespace moult {
inline constexpr std::ptrdiff_t most_retiring = 2;
void settle_turns(Pool&, const PoolPolicy&, MonotonicTime now, std::vector<PoolAction>&);  // which are over, or moot?
void choose_turn(Pool&, MonotonicTime now, std::vector<PoolAction>&);                      // whose is the next?
void start_turn(Pool&, const PoolPolicy&, MonotonicTime now, std::vector<PoolAction>&);    // begin the granted one
}  // namespace moult
