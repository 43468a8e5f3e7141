#pragma once
// Finds the user's Python, and the program of a command. Looks at the file system; runs nothing.
#include <string>

#include "base/result.h"
#include "master/config/settings.h"
namespace moult {
// `python`: a bare name is looked for in the PATH of `environment`, anything with a slash is taken from `folder`; the
// folder of a virtual environment stands for its bin/python. Links are not followed: a virtual environment's
// interpreter knows itself by the path it is called by. The result is absolute.
Result<std::string> find_interpreter(const std::string& python, const std::string& folder, const Environment&);

// Whether `program` can be started as a worker will be (master/launch/program_path.h looks again then): the one with a
// slash is taken from `folder`; for any other the absolute folders of `path` are searched. Without a PATH the usual
// places are. The error names it.
Result<void> check_program(const std::string& program, const std::string& folder, const std::string* path);
}  // namespace moult
