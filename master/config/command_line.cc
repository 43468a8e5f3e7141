#include "master/config/command_line.h"

#include <algorithm>
#include <cxxopts.hpp>

#include "master/config/in_quotes.h"
#include "master/config/nearest_name.h"
#include "master/config/units.h"
namespace moult {
namespace {
// cxxopts looks at whatever begins with a dash by a regular expression, which takes stack for every letter.
constexpr std::size_t longest_dashed = 4096;

std::string option_of(const Flag& flag) { return "--" + std::string(flag.name); }

std::string name_in(std::string_view argument) {
  const auto first = argument.find_first_not_of('-');
  const auto name = first == std::string_view::npos ? "" : argument.substr(first);
  return std::string(name.substr(0, name.find('=')));
}

// What cxxopts did not know: an unknown flag, or one whose value it cannot take out.
Error unknown_flag(const std::string& argument) {
  const std::string name = name_in(argument);
  if (name == "reload")  // uvicorn's and gunicorn's: they watch the files
    return {"unknown flag '--reload': moult does not watch files; 'moult reload' or SIGHUP loads the code anew"};
  if (const Flag* flag = find_flag(name); flag && may_stand_in(*flag, Place::command_line))
    return {option_of(*flag) + ": write its value as an argument of its own: " + option_of(*flag) + " VALUE"};
  const std::string written = argument.substr(0, argument.find('='));
  return {"unknown flag " + in_quotes(written) +
          did_you_mean(name, names_for(Place::command_line), "--", "see moult help for all of them")};
}

Result<void> check_shape(const std::vector<std::string>& arguments) {
  for (const auto& argument : arguments) {
    if (argument.find('\0') != std::string::npos) return Error{"an argument has a zero byte"};
    if (argument.starts_with('-') && argument.size() > longest_dashed) return unknown_flag(argument);
  }
  return {};
}

cxxopts::Options options_from_table() {
  cxxopts::Options options("moult run");
  options.allow_unrecognised_options();  // so that the error can be ours
  for (const Flag& flag : flags()) {
    if (!may_stand_in(flag, Place::command_line)) continue;
    auto value = cxxopts::value<std::string>();
    if (flag.type.shape == FlagShape::toggle) value->implicit_value("on");
    const std::string letter = flag.letter ? std::string(1, flag.letter) + "," : "";
    options.add_options()(letter + std::string(flag.name), "", value);
  }
  return options;
}

bool takes_many(const Flag& flag) { return flag.type.shape == FlagShape::list || flag.type.shape == FlagShape::pairs; }

// Of a flag that takes one value the last one counts, so that a wrapper's flags can be overruled.
Result<void> add(Settings& settings, const Flag& flag, const std::string& value) {
  if (flag.name == "no-preload") {
    const auto on = parse_toggle(value);
    if (!on) return Error{"--no-preload: " + on.error().message};
    if (*on) settings["preload"] = {{"off"}, "--no-preload"};
    return {};
  }
  Setting& setting = settings[std::string(flag.name)];
  setting.origin = option_of(flag);
  if (!takes_many(flag)) setting.values.clear();
  if (setting.values.size() == most_values)
    return Error{setting.origin + " is given more than " + std::to_string(most_values) + " times"};
  setting.values.push_back(value);
  return {};
}

Result<void> add_positionals(Settings& settings, const std::vector<std::string>& rest) {
  for (const auto& argument : rest) {
    if (argument.starts_with('-') && argument != "-") return unknown_flag(argument);
  }
  if (rest.empty()) return {};
  if (rest.size() > 1)
    return Error{"only one app can be run: both " + in_quotes(rest[0]) + " and " + in_quotes(rest[1]) +
                 " are given (to run a command, write -- before it)"};
  if (settings.contains("app"))
    return Error{"only one app can be run: both " + in_quotes(rest[0]) + " and --app are given"};
  settings["app"] = {{rest[0]}, "the app"};
  return {};
}

Result<Settings> parse(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv{"moult run"};
  for (const auto& argument : arguments) argv.push_back(argument.c_str());
  cxxopts::ParseResult parsed;
  try {
    parsed = options_from_table().parse(static_cast<int>(argv.size()), argv.data());
  } catch (const cxxopts::exceptions::parsing&) {
    // The only fault that is left to cxxopts: the last flag lacks its value.
    return Error{"the flag " + arguments.back() + " needs a value after it"};
  }
  Settings settings;
  for (const auto& argument : parsed.arguments()) {
    if (const auto added = add(settings, *find_flag(argument.key()), argument.value()); !added) return added.error();
  }
  if (const auto added = add_positionals(settings, parsed.unmatched()); !added) return added.error();
  return settings;
}
}  // namespace

Result<Settings> read_command_line(const std::vector<std::string>& arguments) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  const std::vector<std::string> ours(arguments.begin(), dashes);
  if (const auto checked = check_shape(ours); !checked) return checked.error();
  auto settings = parse(ours);
  if (!settings || dashes == arguments.end()) return settings;
  const std::vector<std::string> command(dashes + 1, arguments.end());
  if (command.empty()) return Error{"-- needs a command after it"};
  if (settings->contains("app"))
    return Error{"only one thing can be run: both the app " + in_quotes(settings->at("app").values[0]) +
                 " and a command after -- are given"};
  (*settings)["command"] = {command, "the command after --"};
  return settings;
}
}  // namespace moult
