#include "master/control/status_table.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>
namespace moult {
namespace {
using nlohmann::json;

constexpr std::size_t columns = 10;
constexpr std::size_t columns_at_least = 3;  // slot, pid, state
using Row = std::array<std::string, columns>;

// What an app wrote must not steer the terminal: control characters (C0 and DEL) become spaces.
std::string harmless(std::string text) {
  for (char& c : text)
    if (const auto byte = static_cast<unsigned char>(c); (byte < 0x20 && c != '\n') || byte == 0x7f) c = ' ';
  return text;
}

std::string uptime(const json& value) {
  if (!value.is_number()) return "-";
  const double given = value.get<double>();
  if (!(given >= 0) || given > 1e12) return "-";
  const auto s = static_cast<std::uint64_t>(given);
  const auto two = [](std::uint64_t number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  if (s < 60) return std::to_string(s) + "s";
  if (s < 3600) return std::to_string(s / 60) + "m" + two(s % 60) + "s";
  if (s < 86400) return std::to_string(s / 3600) + "h" + two(s / 60 % 60) + "m";
  return std::to_string(s / 86400) + "d" + two(s / 3600 % 24) + "h";
}

const json& field(const json& object, const char* key) {
  static const json absent;
  if (!object.is_object()) return absent;
  const auto found = object.find(key);
  return found == object.end() ? absent : *found;
}

std::string text(const json& value) {
  if (value.is_string() && !value.get_ref<const std::string&>().empty()) {
    std::string shown = harmless(value.get<std::string>());
    std::replace(shown.begin(), shown.end(), '\n', ' ');
    return shown;
  }
  if (value.is_number_integer()) return value.dump();
  return "-";
}

std::string megabytes(const json& value) {
  if (!value.is_number_unsigned()) return "-";
  return std::to_string(value.get<std::uint64_t>() / 1'000'000) + " MB";
}

std::string header(const json& status, const json& workers) {
  std::size_t serving = 0;
  for (const json& worker : workers) serving += field(worker, "state") == "serving";
  return "moult " + text(field(status, "version")) + "  name " + text(field(status, "name")) + "  pid " +
         text(field(status, "pid")) + "  state " + text(field(status, "state")) + "  generation " +
         text(field(status, "generation")) + "  uptime " + uptime(field(status, "uptime_seconds")) + "  serving " +
         std::to_string(serving) + " of " + text(field(status, "wanted")) + " wanted";
}

std::string table(const std::vector<Row>& rows, std::size_t width) {
  std::array<std::size_t, columns> widest{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < columns; ++i) widest[i] = std::max(widest[i], row[i].size());
  std::size_t shown = 0, used = 0;
  for (; shown < columns; ++shown) {
    const std::size_t with = used + (shown ? 2 : 0) + widest[shown];
    if (width && with > width && shown >= columns_at_least) break;
    used = with;
  }
  std::string lines;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < shown; ++i) {
      const std::string space(widest[i] - row[i].size(), ' ');
      const bool words = i == 2 || i + 1 == columns;  // all others are numbers and stand to the right
      line += (i ? "  " : "") + (words ? row[i] + space : space + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines += line + '\n';
  }
  return lines;
}

// Urgent replacements have gone ahead of the budget: routine ones wait until it is paid back.
std::string debt(const json& status) {
  const json& tokens = field(field(status, "gate"), "tokens");
  if (!tokens.is_number() || tokens.get<double>() >= 0) return "";
  char text[40];
  std::snprintf(text, sizeof text, "%.1f", -tokens.get<double>());
  return "budget overdrawn by " + std::string(text) +
         " replacements: routine ones wait until --recycle-rate has paid "
         "them back\n";
}

std::string boot_error(const json& status) {
  const json& error = field(status, "boot_error");
  if (!error.is_string() || error.get_ref<const std::string&>().empty()) return "";
  std::string shown = harmless(error.get<std::string>());
  shown.erase(shown.find_last_not_of(" \n") + 1);
  if (shown.find('\n') == std::string::npos) return "last trouble: " + shown + '\n';
  std::string lines = "last trouble:\n  ";
  for (const char c : shown) lines += c == '\n' ? "\n  " : std::string(1, c);
  return lines + '\n';
}
}  // namespace

std::string status_table(const json& status, std::size_t width) {
  static const json nobody = json::array();
  const json& listed = field(status, "workers");
  const json& workers = listed.is_array() ? listed : nobody;
  std::vector<Row> rows{
      {"SLOT", "PID", "STATE", "GENERATION", "UPTIME", "REQUESTS", "IN-FLIGHT", "MEMORY", "LIMIT", "WAITS FOR"}};
  for (const json& worker : workers)
    rows.push_back({text(field(worker, "slot")), text(field(worker, "pid")), text(field(worker, "state")),
                    text(field(worker, "generation")), uptime(field(worker, "uptime_seconds")),
                    text(field(worker, "requests")), text(field(worker, "in_flight")),
                    megabytes(field(worker, "rss_bytes")), megabytes(field(worker, "limit_bytes")),
                    text(field(worker, "hold"))});
  return header(status, workers) + '\n' + table(rows, width) + debt(status) + boot_error(status);
}
}  // namespace moult
