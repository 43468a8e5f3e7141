#pragma once
// Finds a command as a shell would, but before the fork: afterwards only system calls are allowed. Blocks for a few
// stat calls.
#include <string>
#include <vector>

#include "base/result.h"
namespace moult {
// `command` itself if it has a slash; else the first executable file of that name on the PATH of `environment`.
// Error: ENOENT, or EACCES when there was only one that may not be executed. Entries of PATH that are not absolute are
// passed over: they would mean another folder after a chdir.
Result<std::string> find_program(const std::string& command, const std::vector<std::string>& environment);
}  // namespace moult
