#include "master/config/environment.h"

#include <algorithm>

#include "master/config/nearest_name.h"
#include "master/config/units.h"
namespace moult {
namespace {
constexpr std::string_view prefix = "MOULT_";

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> values;
  for (;;) {
    const auto comma = text.find(',');
    values.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return values;
    text.remove_prefix(comma + 1);
  }
}

const Flag* flag_of(const std::string& variable) {
  const auto& all = flags();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Flag& flag) { return variable_of(flag) == variable; });
  return found == all.end() ? nullptr : &*found;
}

Result<void> add(Settings& settings, const Flag& flag, const std::string& variable, const std::string& value) {
  const std::string option = "--" + std::string(flag.name);
  if (!may_stand_in(flag, Place::environment)) {
    if (!may_stand_in(flag, Place::command_line))
      return Error{variable + ": a " + std::string(flag.name) + " is not read from the environment"};
    return Error{variable + ": " + option + " is known on the command line only"};
  }
  const bool many = flag.type.shape == FlagShape::list || flag.type.shape == FlagShape::pairs;
  Setting setting{many ? split_at_commas(value) : std::vector{value}, variable};
  if (setting.values.size() > most_values)
    return Error{variable + " has more than " + std::to_string(most_values) + " values"};
  settings.emplace(flag.name, std::move(setting));
  return {};
}

// What platforms set for every app, gunicorn's too.
Result<void> add_common_variables(Settings& settings, const Environment& environment) {
  const auto value_of = [&](const char* variable) {
    const auto found = environment.find(variable);
    return found == environment.end() ? std::string() : found->second;
  };
  const std::string workers = value_of("WEB_CONCURRENCY"), port = value_of("PORT");
  if (!workers.empty()) settings.emplace("workers", Setting{{workers}, "WEB_CONCURRENCY"});
  if (port.empty() || settings.contains("bind")) return {};
  const auto number = parse_number(port, {1, 65535});
  if (!number) return Error{"PORT: " + number.error().message};
  settings.emplace("bind", Setting{{"0.0.0.0:" + std::to_string(*number)}, "PORT"});
  return {};
}
}  // namespace

Result<EnvironmentSettings> read_environment(const Environment& environment) {
  EnvironmentSettings read;
  for (const auto& [variable, value] : environment) {
    if (!variable.starts_with(prefix) || value.empty()) continue;
    if (const Flag* flag = flag_of(variable)) {
      if (const auto added = add(read.settings, *flag, variable, value); !added) return added.error();
      continue;
    }
    const auto nearest = nearest_name(std::string_view(variable).substr(prefix.size()), names_for(Place::environment));
    if (nearest)
      return Error{"unknown variable " + variable + ": did you mean " + variable_of(*find_flag(*nearest)) + "?"};
    read.warnings.push_back(variable + " is no setting of moult: ignored");
  }
  if (const auto added = add_common_variables(read.settings, environment); !added) return added.error();
  return read;
}
}  // namespace moult
