#include "tools/doctor/checks.h"
namespace moult {
std::vector<Check> all_checks(const History& history) {
  return {check_runway(history),      check_cooldown(history), check_rate(history),
          check_escalations(history), check_margins(history),  check_pressure(history)};
}
}  // namespace moult
