#include "master/control/controls.h"
namespace moult {
Result<std::unique_ptr<Controls>> Controls::open(uv_loop_t* loop, const ControlServerOptions& options,
                                                 OperatorParts parts) {
  std::unique_ptr<Controls> controls(new Controls(std::move(parts)));
  auto server = ControlServer::open(loop, options, controls->operator_);
  if (!server) return server.error();
  controls->server_ = std::move(*server);
  auto signals = Signals::start(loop, controls->operator_);
  if (!signals) return signals.error();
  controls->signals_ = std::move(*signals);
  return controls;
}
}  // namespace moult
