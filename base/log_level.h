#pragma once
// The words of --log-level and --log-format.
namespace moult {
enum class LogLevel { debug, info, warning, error, critical };
enum class LogFormat { text, json };
}  // namespace moult
