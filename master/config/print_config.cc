#include "master/config/print_config.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "master/config/units.h"
namespace moult {
namespace {
using nlohmann::json;

// As a person would write it: whole numbers and toggles as such, all else as text.
json one_value(const Flag& flag, const std::string& text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  if (flag.type.shape == FlagShape::number && std::from_chars(text.data(), end, number).ptr == end) return number;
  if (flag.type.shape == FlagShape::json) return json::parse(text, nullptr, false);
  if (flag.type.shape == FlagShape::toggle) {
    if (const auto on = parse_toggle(text)) return *on;
  }
  return text;
}

json value_of(const Flag& flag, std::vector<std::string> texts) {
  if (flag.shown) std::ranges::transform(texts, texts.begin(), flag.shown);
  if (flag.type.shape != FlagShape::list && flag.type.shape != FlagShape::pairs) return one_value(flag, texts.back());
  return json(texts);
}

std::string line(const Flag& flag, const std::vector<std::string>& texts, const std::string& origin) {
  const std::string key = json(std::string(flag.name)).dump();
  // What is not UTF-8 cannot stand in JSON: it is shown with replacement characters.
  const std::string value = value_of(flag, texts).dump(-1, ' ', false, json::error_handler_t::replace);
  std::string comment = origin;  // names files: a line break in a name must not end the comment
  for (char& c : comment)
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  return "  " + key + ": " + value + ",  // " + comment + "\n";
}
}  // namespace

std::string print_config(const Settings& settings, bool listeners_are_passed) {
  std::string lines;
  for (const Flag& flag : flags()) {
    if (!may_stand_in(flag, Place::file)) continue;
    const auto setting = settings.find(flag.name);
    if (flag.secret) {
      if (setting != settings.end())
        lines += "  // " + std::string(flag.name) + " is set by " + setting->second.origin + " and not shown\n";
    } else if (setting != settings.end()) {
      lines += line(flag, setting->second.values, setting->second.origin);
    } else if (flag.name == "bind" && listeners_are_passed) {
      lines += "  // bind: the sockets that systemd passes\n";
    } else if (!flag.default_text.empty()) {
      lines += line(flag, {std::string(flag.default_text)}, "default");
    }
  }
  const auto last_comma = lines.rfind(",  // ");
  if (last_comma != std::string::npos) lines.erase(last_comma, 1);
  return "{\n" + lines + "}\n";
}
}  // namespace moult
