#pragma once
// The environment of what moult launches: its own, less what was meant for moult alone, plus what the user adds.
// Called by Instance once, before anything is launched. Pure but for read_environment_file.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
namespace moult {
using EnvironmentEntry = std::pair<std::string, std::string>;  // name, value

// "KEY=VALUE" of --env. An error names what is wrong.
Result<EnvironmentEntry> parse_environment_entry(std::string_view text);
// --env-file: one KEY=VALUE a line, "export " before it is allowed; empty lines and those that begin with # are passed
// over; one pair of quotes around the value is taken off, and nothing in it is expanded. An error names the line.
Result<std::vector<EnvironmentEntry>> parse_environment_file(std::string_view text);
Result<std::vector<EnvironmentEntry>> read_environment_file(const std::string& path);

// Left out of `parent`: MOULT_* (our settings), NOTIFY_SOCKET, WATCHDOG_* and LISTEN_* (said to moult by whoever
// started it; a worker that believed them would speak over moult's head). Of two entries of one name the later counts.
std::vector<std::string> child_environment(const char* const* parent, const std::vector<EnvironmentEntry>& added);
}  // namespace moult
