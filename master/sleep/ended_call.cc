#include "master/sleep/ended_call.h"
namespace moult {
const char* name(CallOutcome outcome) {
  switch (outcome) {
    case CallOutcome::answered: return "answered";
    case CallOutcome::timed_out: return "timed_out";
    case CallOutcome::cut_off: return "cut_off";
    case CallOutcome::not_served: return "not_served";
    case CallOutcome::claimed_elsewhere: return "claimed_elsewhere";
    case CallOutcome::store_unreachable: return "store_unreachable";
    case CallOutcome::lost: return "lost";
    case CallOutcome::stopped: return "stopped";
  }
  return "";
}
}  // namespace moult
