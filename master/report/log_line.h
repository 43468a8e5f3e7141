#pragma once
// One line of the master's own log. Pure.
// text: as gunicorn writes it, so that what reads those logs reads these: "[2026-01-02 03:04:05 +0000] [7] [INFO] ..."
// json: {"at":"2026-01-02T03:04:05.678Z","level":"info","pid":7,"message":"..."}
#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log_level.h"
namespace moult {

// A message longer than this loses its middle: a traceback says what it is at both ends.
inline constexpr std::size_t message_bytes_most = 16 * 1024;

std::string_view name(LogLevel);

// With its newline. Control characters of the app's are made visible, so that no line forges another terminal's state.
std::string text_line(LogLevel, const std::string& local_time, pid_t, std::string_view message);
std::string json_line(LogLevel, WallTime, pid_t, std::string_view message);
std::string shortened(std::string_view message, std::size_t bytes_most = message_bytes_most);
}  // namespace moult
