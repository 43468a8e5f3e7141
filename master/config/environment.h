#pragma once
// The environment variables that moult listens to, as settings. Pure.
//
//   MOULT_<FLAG>      --graceful-timeout is MOULT_GRACEFUL_TIMEOUT; several values of one flag have commas between them
//   WEB_CONCURRENCY   workers, unless MOULT_WORKERS is set
//   PORT              bind 0.0.0.0:PORT, unless MOULT_BIND is set
//
// An empty variable counts as not set: compose files and unit files make them so.
#include <string>
#include <vector>

#include "base/result.h"
#include "master/config/settings.h"
namespace moult {
struct EnvironmentSettings {
  Settings settings;
  std::vector<std::string> warnings;
};
// A MOULT_ variable that looks like a misspelt flag is refused. Others may be somebody else's (Kubernetes sets
// MOULT_PORT and its like for a service that is named moult): those are ignored, with a warning.
Result<EnvironmentSettings> read_environment(const Environment&);
}  // namespace moult
