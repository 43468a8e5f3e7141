#pragma once
// Reads a file line by line, with bounded memory. Called by the mains of doctor and correlate; blocks.
#include <functional>
#include <string>

#include "base/result.h"
#include "tools/event_history/input_line.h"
namespace moult {
// `path` "-" is stdin. Blank lines are left out; the last line may lack its end. The callback's error ends the reading
// and is returned; else the error names the path. What is compressed is not read: the error says how to give it.
Result<void> for_each_line(const std::string& path, const std::function<Result<void>(const InputLine&)>&);
}  // namespace moult
