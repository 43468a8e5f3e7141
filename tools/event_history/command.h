#pragma once
// What the mains of doctor and correlate have in common: arguments, exit codes, one error on stderr, checked output.
#include <cxxopts.hpp>
#include <string>

#include "base/clock.h"
#include "base/result.h"
namespace moult {
inline constexpr char events_help[] = "files that 'moult run --events' wrote, one of each instance; - is stdin";

inline constexpr int tool_done = 0, tool_failed = 1, tool_bad_usage = 2;  // as of moult's other commands

// Prints "moult: why" on stderr; returns the status.
int tool_fails(int status, const std::string& why);
// Prints on stdout; what could not be written was not printed: tool_failed then.
int tool_prints(const std::string& text);

// `argv[0]` is passed over. The error ends with where the help is; `command` is "doctor".
Result<cxxopts::ParseResult> parse_arguments(cxxopts::Options&, const std::string& command, int argc, char** argv);
// "90", "1.5", "250ms", "30s", "5m", "2h": more than zero, at most 30 days.
Result<Duration> read_duration(const std::string& text);
// A whole number of at most `most`.
Result<std::uint64_t> read_count(const std::string& text, std::uint64_t most);
}  // namespace moult
