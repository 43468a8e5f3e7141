#include "master/instance_options.h"

#include <unistd.h>

#include <filesystem>
#include <random>

#include "master/launch/environment.h"
#include "master/launch/settings_check.h"
#include "master/launch/supplementary_groups.h"
namespace moult::options {
namespace {
using namespace std::chrono_literals;

// DESIGN §4, "Cannot boot".
constexpr BackoffPolicy boot_backoff{1s, 30s};
constexpr Duration stable_after = 10s;

std::vector<EnvironmentEntry> added_environment(const Config& config) {
  return {config.app.environment.begin(), config.app.environment.end()};
}

// A person at a terminal sees at once what a worker prints, and programs that ask isatty() hear the truth. Everywhere
// else it comes through the master, so that a log reader that has stopped reading stops no worker.
OutputRoute output_route(const Config& config) {
  if (config.log.worker_prefix) return OutputRoute::prefixed;
  return isatty(STDOUT_FILENO) || isatty(STDERR_FILENO) ? OutputRoute::inherit : OutputRoute::relay;
}

std::optional<Identity> identity(const std::optional<RunAs>& run_as) {
  if (!run_as) return std::nullopt;
  return Identity{run_as->uid, run_as->gid, supplementary_groups(run_as->user_name, run_as->gid)};
}

ChildSettings child(const Config& config, std::optional<rlim_t> open_files_before, Reporting& reporting) {
  return {.environment = child_environment(environ, added_environment(config)),
          .directory = config.app.working_directory,
          .umask = config.process.umask,
          .identity = identity(config.process.run_as),
          .open_files_soft = open_files_before,
          .output = output_route(config),
          .sink = [&reporting](OutputStream stream, std::string_view line) {
            return reporting.pass_on(stream == OutputStream::standard_output ? STDOUT_FILENO : STDERR_FILENO, line);
          }};
}

HookOptions hook(const char* flag, const std::optional<std::string>& command, const Config& config,
                 std::optional<rlim_t> open_files_before, Reporting& reporting) {
  return {.flag = flag,
          .command = command,
          .child = child(config, open_files_before, reporting),
          .trouble = [&reporting](const std::string& line) { reporting.log().warning(line); }};
}

std::vector<InheritedListener> inherited(const Doors& doors) {
  std::vector<InheritedListener> all;
  for (const ListenerDescription& each : doors.listeners.describe())
    all.push_back({each.fd, each.address, name(each.family)});
  return all;
}

std::string preload_word(Preload preload) {
  switch (preload) {
    case Preload::on: return "on";
    case Preload::strict: return "strict";
    case Preload::off: break;
  }
  return "off";
}

ForkServerSettings settings_without_listeners(const Config& config) {
  return {.app = config.app.target,
          .preload = preload_word(config.app.preload),
          .post_fork = config.app.post_fork,
          .worker_class = config.server.worker_class,
          .server_options = config.server.options,
          .keep_alive = config.server.keep_alive,
          .graceful_timeout = config.stop.graceful_timeout,
          .timeout = config.hang.timeout.value_or(0ms),
          .request_timeout = config.hang.request_timeout.value_or(0ms),
          .backlog = static_cast<int>(config.listen.backlog),
          .threads = config.server.threads,
          .log_level = std::string(name(config.log.level)),
          .access_logfile = config.server.access_logfile,
          .forwarded_allow_ips = config.server.forwarded_allow_ips,
          .root_path = config.server.root_path,
          .certfile = config.server.certfile,
          .keyfile = config.server.keyfile,
          .idle_ignore = config.connections.idle_ignore,
          .spares = config.workers.spares > 0 || config.sleep.warmth == Warmth::spare};
}

ForkServerSettings settings(const Config& config, const Doors& doors) {
  ForkServerSettings all = settings_without_listeners(config);
  all.listeners = inherited(doors);
  all.internal_fd = doors.internal.fd();
  if (doors.sidecar) all.sidecar_fd = doors.sidecar->fd();
  return all;
}

AdminServerOptions admin(const TcpAddress& address, const std::string& flag, AdminRules rules) {
  return {address.host, address.port, flag, std::move(rules)};
}
}  // namespace

ReportOptions report(const Config& config, const std::string& version, const ServiceManagerSettings& service_manager) {
  ReportOptions options{.name = config.process.name,
                        .version = version,
                        .log = {.level = config.log.level, .format = config.log.format},
                        .events_file = config.log.events,
                        .pid_file = config.process.pid_file,
                        .own_fleet = !config.fleet.store,
                        .service_manager = service_manager};
  const ControlConfig& control = config.control;
  if (control.admin)
    options.admin_servers.push_back(admin(*control.admin, "--admin", {AdminPaths::all, control.token.value_or("")}));
  if (control.health)
    options.admin_servers.push_back(admin(*control.health, "--health-bind", {AdminPaths::health_only, ""}));
  return options;
}

std::string private_folder(const Config& config) { return std::filesystem::path(config.control.path).parent_path(); }

ListenerOptions listeners(const Config& config) {
  ListenerOptions options{.binds = config.listen.bind,
                          .sidecar = config.listen.sidecar,
                          .socket = {.backlog = static_cast<int>(config.listen.backlog)}};
  if (const auto& run_as = config.process.run_as) {
    options.socket.unix_owner = run_as->uid;
    options.socket.unix_group = run_as->gid;
  }
  return options;
}

LaunchOptions launch(const Config& config, const Doors& doors, const InstalledParts& installed,
                     std::optional<rlim_t> open_files_before, Reporting& reporting) {
  if (config.app.kind == AppKind::command)
    return ExecOptions{.command = config.app.command,
                       .listeners = inherited(doors),
                       .child = child(config, open_files_before, reporting),
                       .ready_delay = config.workers.ready_delay,
                       .timeout = config.hang.timeout};
  ForkServersOptions options{.settings = settings(config, doors),
                             .child = child(config, open_files_before, reporting),
                             .served_by =
                                 [&reporting](const std::string& server) {
                                   reporting.server_is(server);
                                   reporting.log().info("the app is loaded, served by " + server);
                                 },
                             .warn = [&reporting](const std::string& line) { reporting.log().warning(line); },
                             .if_silent = config.app.kind == AppKind::python
                                              ? "is it a Python 3 interpreter? If it said why, that stands above"
                                              : ""};
  if (config.app.kind == AppKind::native) options.program = {installed.native_fork_server};
  else options.program = {config.app.python, installed.python_package};
  return options;
}

Result<void> server_takes_its_settings(const Config& config) {
  if (config.app.kind != AppKind::python) return {};
  const auto installed = InstalledParts::find();
  if (!installed) return installed.error();
  return check_settings({config.app.python, installed->python_package}, settings_without_listeners(config),
                        {.environment = child_environment(environ, added_environment(config)),
                         .directory = config.app.working_directory,
                         .umask = config.process.umask,
                         .identity = identity(config.process.run_as)});
}

SupervisorPolicy supervisor(const Config& config) {
  const WorkerTimeouts timeouts{config.workers.boot_timeout, config.stop.graceful_timeout, config.hang.kill_after};
  const BeforeReload before =
      config.workers.reload_low_memory ? BeforeReload::drop_the_old : BeforeReload::keep_the_old;
  return {.pool = {timeouts, config.workers.boot_attempts, boot_backoff, stable_after, config.stop.delay},
          .generations = {boot_backoff, stable_after, config.workers.boot_attempts, before},
          .random_seed = std::random_device{}()};
}

HookOptions alarm_hook(const Config& config, std::optional<rlim_t> open_files_before, Reporting& reporting) {
  return hook("--on-alarm", config.recycling.on_alarm, config, open_files_before, reporting);
}

HookOptions sleep_hook(const Config& config, std::optional<rlim_t> open_files_before, Reporting& reporting) {
  return hook("--on-sleep", config.sleep.on_sleep, config, open_files_before, reporting);
}

HookOptions wake_hook(const Config& config, std::optional<rlim_t> open_files_before, Reporting& reporting) {
  return hook("--on-wake", config.sleep.on_wake, config, open_files_before, reporting);
}

HealthPolicy health(const Config& config) {
  return {config.hang.timeout.value_or(0ms), config.hang.request_timeout.value_or(0ms)};
}

ControlServerOptions control(const Config& config, const std::string& version) {
  return {.path = config.control.path, .identity = {config.process.name, version}};
}
}  // namespace moult::options
