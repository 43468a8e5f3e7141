#include "master/report/fleet_report.h"

#include <utility>

#include "base/machine.h"
namespace moult {
void FleetReport::ask(std::function<void(Result<std::string>)> told) {
  if (looks_.size() >= most_fleet_reports) return told(Error{"too many ask for the fleet's status: try again"});
  const unsigned number = next_++;
  looks_[number] = gate_.look({monotonic_now(loop_) + fleet_report_within},
                              [this, number, told = std::move(told)](const Result<FleetView>& seen) {
                                const FleetLook ours = std::exchange(looks_[number], nullptr);
                                looks_.erase(number);
                                if (seen) told(fleet_json(*seen, names_));
                                else told(Error{"the fleet's ledger cannot be read: " + seen.error().message});
                              });
}
}  // namespace moult
