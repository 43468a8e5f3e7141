#pragma once
// All ways in which wishes reach this instance: the operator, the control socket and the signals. Made by Instance,
// last of all, so that nothing is asked of a part that is not there yet.
#include <memory>

#include "master/control/control_server.h"
#include "master/control/operator.h"
#include "master/control/signals.h"
namespace moult {
class Controls {
 public:
  static Result<std::unique_ptr<Controls>> open(uv_loop_t*, const ControlServerOptions&, OperatorParts);

 private:
  explicit Controls(OperatorParts parts) : operator_(std::move(parts)) {}
  Operator operator_;
  std::unique_ptr<ControlServer> server_;
  std::unique_ptr<Signals> signals_;
};
}  // namespace moult
