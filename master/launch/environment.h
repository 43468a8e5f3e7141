#pragma once
// The environment of what moult launches: its own, less what was meant for moult alone, plus what the user adds.
// Called by Instance once, before anything is launched. Pure.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace moult {
using EnvironmentEntry = std::pair<std::string, std::string>;  // name, value

// Left out of `parent`: MOULT_* (our settings), NOTIFY_SOCKET, WATCHDOG_* and LISTEN_* (said to moult by whoever
// started it; a worker that believed them would speak over moult's head). Of two entries of one name the later counts.
std::vector<std::string> child_environment(const char* const* parent, const std::vector<EnvironmentEntry>& added);
}  // namespace moult
