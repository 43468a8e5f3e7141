#pragma once
// Answers `moult fleet status`: asks the gate for its ledger, and makes the document of it. Made by Instance, called by
// Operator, on the loop's thread.
#include <uv.h>

#include <functional>
#include <map>
#include <string>

#include "lease/fleet_gate.h"
#include "master/report/fleet_json.h"
namespace moult {
inline constexpr Duration fleet_report_within = std::chrono::seconds(2);  // well within the client's own patience
inline constexpr std::size_t most_fleet_reports = 16;                     // under way at a time

class FleetReport {
 public:
  FleetReport(uv_loop_t* loop, FleetGate& gate, FleetNames names)
      : loop_(loop), gate_(gate), names_(std::move(names)) {}
  FleetReport(const FleetReport&) = delete;
  FleetReport& operator=(const FleetReport&) = delete;

  // `told` is called once: later, or at once when too many ask.
  void ask(std::function<void(Result<std::string>)> told);

 private:
  uv_loop_t* loop_;
  FleetGate& gate_;
  FleetNames names_;
  std::map<unsigned, FleetLook> looks_;
  unsigned next_ = 0;
};
}  // namespace moult
