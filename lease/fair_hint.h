#pragma once
// When a routine question that was refused is asked again, so that all who want the same have the same chance. Pure.
// Used by RedisGate for every refusal of the store; the ledger itself tells all who wait the same moment, in which the
// one that is nearest to the store by microseconds would be the first each time, and the others would then meet its
// lease.
#include "base/random.h"
#include "base/urgency.h"
#include "lease/gate.h"
namespace moult {
// A token is waited for a little longer than it takes, by at most this part of the time in which one comes, so that a
// bucket of one is hardly ever full; and no longer than most_token_spread, in which a thousand instances are one
// question a millisecond.
inline constexpr double token_spread_part = 1.0 / 8;
inline constexpr Duration most_token_spread = std::chrono::seconds(1);
// A lease may be released long before its hint (5 s): who waits comes back at any time from this part of it on.
inline constexpr double least_of_lease_hint = 1.0 / 5;

// `tokens`: in the bucket at that refusal, as the store said. Urgent ones and other refusals are left as they are.
Refused fair_hint(const Refused&, Urgency, double tokens, Random&);
}  // namespace moult
