#pragma once
// Carries out one command of the control socket: asks the Operator and puts the outcome into words for the client.
// Called by ControlConnection.
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "master/control/command.h"
#include "master/control/operator.h"
namespace moult {
// Who we are, for the answer to `version`.
struct ControlIdentity {
  std::string name, version;
};

using CommandResult = Result<std::string>;  // JSON, or why not

// Nothing: the answer comes later, through `later`, once. Else `later` is never called.
std::optional<CommandResult> run_command(Operator&, const ControlIdentity&, const Command&, const std::string& asked_by,
                                         std::function<void(CommandResult)> later);
}  // namespace moult
