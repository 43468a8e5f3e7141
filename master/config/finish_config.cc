#include "master/config/finish_config.h"

#include <unistd.h>

#include <filesystem>

#include "base/control_path.h"
#include "master/config/check_config.h"
#include "master/config/identity.h"
#include "master/config/interpreter.h"
namespace moult {
namespace {
namespace fs = std::filesystem;

std::string origin_of(const Settings& settings, std::string_view name) {
  const auto setting = settings.find(name);
  return setting == settings.end() ? "the default of --" + std::string(name) : setting->second.origin;
}

Result<void> find_working_directory(Config& config, const Settings& settings) {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  if (error) return Error{"the folder that moult was started in is gone"};
  const fs::path there = (here / config.app.working_directory).lexically_normal();
  if (!fs::is_directory(there, error))
    return Error{origin_of(settings, "chdir") + ": there is no folder " + there.string()};
  config.app.working_directory = there.has_filename() ? there.string() : there.parent_path().string();
  return {};
}

// `-` is stdout and stays so.
void make_absolute(const std::string& folder, std::string& path) {
  if (path != "-") path = (fs::path(folder) / path).lexically_normal().string();
}
void make_absolute(const std::string& folder, std::optional<std::string>& path) {
  if (path) make_absolute(folder, *path);
}

Result<void> make_absolute(const std::string& folder, BindAddress& address, const std::string& origin) {
  auto* unix_address = std::get_if<UnixAddress>(&address);
  if (!unix_address) return {};
  make_absolute(folder, unix_address->path);
  if (unix_address->path.size() <= unix_path_most_bytes) return {};
  return Error{origin + ": " + unix_address->path + " is too long for a socket: at most " +
               std::to_string(unix_path_most_bytes) + " bytes"};
}

Result<void> make_paths_absolute(Config& config, const Settings& settings) {
  const std::string& folder = config.app.working_directory;
  if (config.app.kind == AppKind::native) make_absolute(folder, config.app.target);
  for (auto* path : {&config.server.certfile, &config.server.keyfile, &config.server.access_logfile,
                     &config.process.pid_file, &config.log.events, &config.sleep.state_dir})
    make_absolute(folder, *path);
  for (auto& address : config.listen.bind)
    if (auto made = make_absolute(folder, address, origin_of(settings, "bind")); !made) return made;
  if (!config.listen.sidecar) return {};
  return make_absolute(folder, *config.listen.sidecar, origin_of(settings, "sidecar-bind"));
}

Result<void> find_control_path(Config& config, const Settings& settings, const Environment& environment) {
  std::string& path = config.control.path;
  if (path.empty()) {
    const auto runtime = environment.find("XDG_RUNTIME_DIR");
    const auto found =
        control_path(config.process.name, {runtime == environment.end() ? "" : runtime->second, geteuid()});
    if (!found) return Error{origin_of(settings, "name") + ": " + found.error().message};
    path = *found;
  }
  make_absolute(config.app.working_directory, path);
  const std::string origin = origin_of(settings, "control");
  if (const auto checked = checked_control_path(path); !checked) return Error{origin + ": " + checked.error().message};
  const fs::path folder = fs::path(path).parent_path();
  std::error_code error;
  // The default one's is made when the socket is.
  if (settings.contains("control") && !fs::is_directory(folder, error))
    return Error{origin + ": there is no folder " + folder.string() + " for the control socket: make it first"};
  return {};
}

Result<void> complete_identity(Config& config, const Settings& settings) {
  auto& run_as = config.process.run_as;
  if (!run_as) return {};
  if (run_as->gid == no_group)
    return Error{origin_of(settings, "user") + ": this number has no passwd entry: give --group too"};
  return {};
}

// As workers will look for it: in the PATH that they get.
Result<void> find_command(const AppConfig& app, const Settings& settings, const Environment& environment) {
  const auto own = app.environment.find("PATH"), ours = environment.find("PATH");
  const std::string* path = own != app.environment.end() ? &own->second
                            : ours != environment.end()  ? &ours->second
                                                         : nullptr;
  const auto found = check_program(app.command.front(), app.working_directory, path);
  return found ? found : Error{origin_of(settings, "command") + ": " + found.error().message};
}

Result<void> find_app(Config& config, const Settings& settings, const Environment& environment) {
  if (!settings.contains("app") && !settings.contains("command"))
    return Error{"nothing to run: give MODULE:ATTR, --app native:./libapp.so, or -- COMMAND ARGS..."};
  std::error_code error;
  if (config.app.kind == AppKind::native && !fs::exists(config.app.target, error))
    return Error{origin_of(settings, "app") + ": there is no " + config.app.target};
  if (config.app.kind == AppKind::command) return find_command(config.app, settings, environment);
  if (config.app.kind != AppKind::python) return {};
  auto python = find_interpreter(config.app.python, config.app.working_directory, environment);
  if (!python) return Error{origin_of(settings, "python") + ": " + python.error().message};
  config.app.python = *std::move(python);
  return {};
}
}  // namespace

Result<void> finish_config(Config& config, const Settings& settings, const Environment& environment,
                           std::vector<std::string>& warnings) {
  if (const auto done = find_working_directory(config, settings); !done) return done;
  if (const auto done = find_control_path(config, settings, environment); !done) return done;
  if (const auto done = make_paths_absolute(config, settings); !done) return done;
  if (const auto done = complete_identity(config, settings); !done) return done;
  if (const auto done = find_app(config, settings, environment); !done) return done;
  if (const auto checked = check_config(config, settings); !checked) return checked;
  for (auto& warning : warnings_about(config, settings)) warnings.push_back(std::move(warning));
  return {};
}
}  // namespace moult
