#include "recycler/reason.h"
namespace moult {
const char* name(Cause cause) {
  switch (cause) {
    case Cause::limit: return "limit";
    case Cause::hard_limit: return "hard_limit";
    case Cause::pressure: return "pressure";
    case Cause::max_requests: return "max_requests";
    case Cause::max_lifetime: return "max_lifetime";
    case Cause::operator_request: return "operator";
  }
  return "";
}

const char* name(HoldReason reason) {
  switch (reason) {
    case HoldReason::second_reading: return "second_reading";
    case HoldReason::cooldown: return "cooldown";
    case HoldReason::busy: return "busy";
    case HoldReason::nothing_to_free: return "nothing_to_free";
    case HoldReason::pressure_futile: return "pressure_futile";
    case HoldReason::turn_in_hand: return "turn_in_hand";
    case HoldReason::boot_failing: return "boot_failing";
    case HoldReason::lease_held: return "lease_held";
    case HoldReason::no_tokens: return "no_tokens";
    case HoldReason::below_minimum: return "below_minimum";
    case HoldReason::store_unreachable: return "store_unreachable";
  }
  return "";
}

const char* name(Urgency urgency) {
  switch (urgency) {
    case Urgency::routine: return "routine";
    case Urgency::hard_limit: return "hard_limit";
    case Urgency::pressure: return "pressure";
  }
  return "";
}
}  // namespace moult
