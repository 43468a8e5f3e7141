#pragma once
// `moult NAME` for what is a program of its own (tools/): PREFIX/libexec/moult/moult-NAME takes the place of this
// process. Called by main.
#include <string>
#include <vector>

#include "base/result.h"
namespace moult {
// doctor, correlate.
bool is_tool(const std::string& name);
// Returns only when it cannot be executed. `arguments` are those after the name; they become argv[1] and on.
Error execute_tool(const std::string& name, const std::vector<std::string>& arguments);
}  // namespace moult
