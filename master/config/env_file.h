#pragma once
// Files of environment variables, for --env-file. Pure.
//
//   # a comment                     a line of its own
//   NAME=value                      up to the end of the line, without blanks around it
//   export NAME=value               as shells write it
//   NAME='literally $this'          nothing is special inside
//   NAME="a \"b\" \n c"             \n \t \" \\ \$ are
//
// No variable is ever expanded. A bare value with " #" in it is refused, since other readers of such files do not agree
// on whether a comment begins there.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
namespace moult {
// In the order of the file. `name` is the file's, for "FILE: line 3: ...".
Result<std::vector<std::pair<std::string, std::string>>> parse_env_file(std::string_view text, const std::string& name);
}  // namespace moult
