#include "master/report/log_line.h"

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "master/report/timestamp.h"
namespace moult {
namespace {
struct LevelName {
  LogLevel level;
  std::string_view name, in_text;
};
constexpr std::array<LevelName, 5> level_names{{
    {LogLevel::debug, "debug", "DEBUG"},
    {LogLevel::info, "info", "INFO"},
    {LogLevel::warning, "warning", "WARNING"},
    {LogLevel::error, "error", "ERROR"},
    {LogLevel::critical, "critical", "CRITICAL"},
}};
const LevelName& names_of(LogLevel level) { return level_names[static_cast<std::size_t>(level)]; }

void append_visible(std::string& line, std::string_view message) {
  for (const char each : message) {
    const auto byte = static_cast<unsigned char>(each);
    if ((byte >= 0x20 && byte != 0x7f) || each == '\n' || each == '\t') {
      line += each;
      continue;
    }
    char hex[8];
    std::snprintf(hex, sizeof hex, "\\x%02x", byte);
    line += hex;
  }
}
}  // namespace

std::string_view name(LogLevel level) { return names_of(level).name; }

std::string shortened(std::string_view message, std::size_t bytes_most) {
  if (message.size() <= bytes_most) return std::string(message);
  const std::size_t half = bytes_most / 2;
  const std::string cut = " ... [" + std::to_string(message.size() - 2 * half) + " bytes left out] ... ";
  return std::string(message.substr(0, half)) + cut + std::string(message.substr(message.size() - half));
}

std::string text_line(LogLevel level, const std::string& local_time, pid_t pid, std::string_view message) {
  while (message.ends_with('\n')) message.remove_suffix(1);
  std::string line = "[" + local_time + "] [" + std::to_string(pid) + "] [";
  line.append(names_of(level).in_text);
  line += "] ";
  append_visible(line, shortened(message));
  line += '\n';
  return line;
}

std::string json_line(LogLevel level, WallTime at, pid_t pid, std::string_view message) {
  while (message.ends_with('\n')) message.remove_suffix(1);
  const nlohmann::ordered_json line{
      {"at", rfc3339(at)}, {"level", name(level)}, {"pid", pid}, {"message", shortened(message)}};
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}
}  // namespace moult
