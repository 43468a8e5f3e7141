#pragma once
// Why a worker goes, and why it does not go yet: the words of the recycler, as events and status say them. Pure.
#include <cstdint>

#include "base/urgency.h"
namespace moult {
enum class Cause { limit, hard_limit, pressure, max_requests, max_lifetime, operator_request };

enum class HoldReason {
  // said by decide()
  second_reading,   // over its limit by one reading; the next one, by smaps_rollup, confirms or not
  cooldown,         // another one was recycled a moment ago
  busy,             // waits for a quiet moment (--busy-rps), up to --defer-max
  nothing_to_free,  // the instance is under pressure, but no worker's exit would help
  pressure_futile,  // pressure recycles freed nothing: they are stopped for a while
  // said by the pool, to which the worker was given
  turn_in_hand,  // another replacement is under way
  boot_failing,  // replacements cannot boot
  // said by the gate
  lease_held,
  no_tokens,
  below_minimum,
  store_unreachable
};

const char* name(Cause);  // as in events: "operator" for operator_request
const char* name(HoldReason);
const char* name(Urgency);
}  // namespace moult
