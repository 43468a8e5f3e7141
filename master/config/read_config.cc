#include "master/config/read_config.h"

#include <unistd.h>

#include "master/config/command_line.h"
#include "master/config/config_file.h"
#include "master/config/environment.h"
#include "master/config/finish_config.h"
#include "master/config/print_config.h"
#include "master/config/text_file.h"
#include "master/config/units.h"
namespace moult {
namespace {
// A toggle of the command line that was checked already, or not given.
Result<bool> is_on(const Settings& settings, std::string_view name) {
  const auto setting = settings.find(name);
  if (setting == settings.end()) return false;
  auto on = parse_toggle(setting->second.values.back());
  if (!on) return Error{setting->second.origin + ": " + on.error().message};
  return on;
}

Result<Purpose> purpose_of(const Settings& settings) {
  for (const auto& [name, purpose] : {std::pair{"help", Purpose::help}, std::pair{"check-config", Purpose::check},
                                      std::pair{"print-config", Purpose::print}}) {
    const auto on = is_on(settings, name);
    if (!on) return on.error();
    if (*on) return purpose;
  }
  return Purpose::run;
}

Result<Settings> with_file(Settings settings) {
  const auto config = settings.find("config");
  if (config == settings.end()) return settings;
  const std::string path = config->second.values.back();
  const auto text = read_text_file(path);
  if (!text) return Error{config->second.origin + ": " + text.error().message};
  auto file = parse_config_file(*text, path);
  if (!file) return file.error();
  if (const auto checked = check_one_app(*file); !checked) return checked.error();
  return merged(std::move(settings), *std::move(file));
}

// systemd's word that it passes sockets to this very process, sd_listen_fds(3).
bool sockets_are_passed(const Environment& environment) {
  const auto count = environment.find("LISTEN_FDS");
  const auto pid = environment.find("LISTEN_PID");
  if (count == environment.end() || count->second.empty() || count->second == "0") return false;
  return pid == environment.end() || pid->second == std::to_string(getpid());
}

Result<Config> fill(const Settings& settings, const Environment& environment) {
  Config config;
  for (const Flag& flag : flags()) {
    const auto setting = settings.find(flag.name);
    if (setting == settings.end()) {
      if (flag.default_text.empty() || (flag.name == "bind" && sockets_are_passed(environment))) continue;
      if (const auto read = flag.type.read(config, flag.default_text); !read)
        return Error{"the default of --" + std::string(flag.name) + ": " + read.error().message};
      continue;
    }
    for (const auto& value : setting->second.values) {
      const auto read = flag.type.read(config, value);
      if (!read) return Error{setting->second.origin + ": " + read.error().message};
    }
  }
  return config;
}
}  // namespace

Result<RunRequest> read_config(const std::vector<std::string>& arguments, const Environment& environment) {
  RunRequest request;
  auto settings = read_command_line(arguments);
  if (!settings) return settings.error();
  const auto purpose = purpose_of(*settings);
  if (!purpose) return purpose.error();
  request.purpose = *purpose;
  if (request.purpose == Purpose::help) return request;
  auto variables = read_environment(environment);
  if (!variables) return variables.error();
  settings = with_file(merged(*std::move(settings), std::move(variables->settings)));
  if (!settings) return settings.error();
  auto config = fill(*settings, environment);
  if (!config) return config.error();
  request.warnings = std::move(variables->warnings);
  if (const auto finished = finish_config(*config, *settings, environment, request.warnings); !finished)
    return finished.error();
  request.printed = print_config(*settings, config->listen.bind.empty());
  request.config = *std::move(config);
  return request;
}

Environment environment_of(const char* const* environ) {
  Environment environment;
  for (; *environ; ++environ) {
    const std::string_view entry(*environ);
    const auto equals = entry.find('=');
    if (equals != std::string_view::npos) environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return environment;
}
}  // namespace moult
