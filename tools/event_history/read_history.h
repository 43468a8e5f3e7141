#pragma once
// Event files into a History. Called by the mains of doctor and correlate; blocks.
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/event_history/history.h"
namespace moult {
// All files, one after the other; "-" is stdin. Fails where one cannot be read, or where none has an event although
// there are lines: the wrong file was given.
Result<History> read_history(const std::vector<std::string>& paths);
}  // namespace moult
