#pragma once
// An Exit for a process that never came to be: which of moult's own calls failed, and why.
#include <cerrno>
#include <string>
#include <utility>

#include "master/pool/exit.h"
namespace moult {
inline Exit launch_failure(std::string stage, int error, std::string cause = {}) {
  Exit exit;
  exit.stage = std::move(stage);
  exit.error = error;
  exit.cause = std::move(cause);
  return exit;
}

// Before a launch: it would leave the master without a descriptor for anything else.
inline Exit no_descriptors_for_a_launch() {
  return launch_failure("open files", EMFILE, "raise the limit (ulimit -n, LimitNOFILE=), or want fewer workers");
}
}  // namespace moult
