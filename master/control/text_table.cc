#include "master/control/text_table.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
namespace moult {
using nlohmann::json;
namespace {
std::size_t cells_in_columns(const TableRow& row, std::size_t columns) {
  return row.size() < columns ? row.size() - 1 : columns;
}
}  // namespace

std::string harmless(std::string text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 && text[i] != '\n') || byte == 0x7f) text[i] = ' ';
    if (byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) text.replace(i, 2, " ");
  }
  return text;
}

std::string last_line(const json& value) {
  if (!value.is_string()) return "";
  std::string shown = value.get<std::string>();
  shown.erase(shown.find_last_not_of(" \n") + 1);
  const auto last = shown.rfind('\n');
  return harmless(last == std::string::npos ? shown : shown.substr(last + 1));
}

std::string duration(const json& value) {
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

std::string time_left(const json& value) {
  return value.is_number() ? duration(std::max(1.0, std::ceil(value.get<double>()))) : duration(value);
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

std::string table(const std::vector<TableRow>& rows, const TableShape& shape, std::size_t width) {
  const std::size_t columns = rows.front().size();
  std::vector<std::size_t> widest(columns);
  for (const TableRow& row : rows)
    for (std::size_t i = 0; i < cells_in_columns(row, columns); ++i) widest[i] = std::max(widest[i], row[i].size());
  std::size_t shown = 0, used = 0;
  for (; shown < columns; ++shown) {
    const std::size_t with = used + (shown ? 2 : 0) + widest[shown];
    if (width && with > width && shown >= shape.columns_at_least) break;
    used = with;
  }
  std::string lines;
  for (const TableRow& row : rows) {
    std::string line;
    const std::size_t in_columns = cells_in_columns(row, columns);
    for (std::size_t i = 0; i < std::min(shown, in_columns); ++i) {
      const std::string space(widest[i] - row[i].size(), ' ');
      const bool words = std::ranges::find(shape.left, i) != shape.left.end();
      line += (i ? "  " : "") + (words ? row[i] + space : space + row[i]);
    }
    if (in_columns < row.size()) line += "  " + row.back();
    line.erase(line.find_last_not_of(' ') + 1);
    lines += line + '\n';
  }
  return lines;
}
}  // namespace moult
