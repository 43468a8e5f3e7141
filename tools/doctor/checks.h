#pragma once
// The analyses of doctor, one a file. Pure: the same lines give the same words. `all_checks` runs them in the order in
// which a person reads them.
#include <vector>

#include "tools/doctor/check.h"
#include "tools/event_history/history.h"
namespace moult {
Check check_runway(const History&);       // runway.cc: is the lowest limit too near to what a worker weighs?
Check check_cooldown(const History&);     // cooldown.cc: did the cooldown hold anybody over its hard limit?
Check check_rate(const History&);         // rate.cc: may the fleet be replaced several times an hour?
Check check_escalations(const History&);  // escalations.cc: did shorter cooldowns ever matter?
Check check_margins(const History&);      // margins.cc: how far above its limit did a worker go?
Check check_pressure(const History&);     // pressure.cc: how often was memory short?

std::vector<Check> all_checks(const History&);
}  // namespace moult
