// The flags, a row each: name, letter, metavar, default, group, help, type with range and field.
#include <unistd.h>

#include <algorithm>

#include "base/worker_limits.h"
#include "master/config/app_name.h"
#include "master/config/env_file.h"
#include "master/config/flag_types.h"
#include "master/config/identity.h"
#include "master/config/in_quotes.h"
#include "master/config/text_file.h"
namespace moult {
namespace {
using namespace flag_type;
using namespace std::chrono_literals;
using Rows = std::vector<Flag>;

constexpr unsigned most_parked = 65536;  // a choice: each is a descriptor of the master
// Choices: each is compared with what a client of a sleeping app says, and all go to each worker.
constexpr std::size_t most_ignored_paths = 64, longest_ignored_path = 1024;

FlagType with(FlagShape shape, std::function<Result<void>(Config&, std::string_view)> read) { return {shape, read}; }

// For flags that say what to do, not what to run: read_config looks at them itself.
FlagType fills_no_field(FlagShape shape) {
  return {shape, [shape](Config&, std::string_view text) -> Result<void> {
            if (shape != FlagShape::toggle) return {};
            if (const auto on = parse_toggle(text); !on) return on.error();
            return {};
          }};
}

Flag asked_on_command_line(std::string_view name, char letter, std::string_view help, FlagGroup group) {
  return {.name = name,
          .letter = letter,
          .group = group,
          .help = help,
          .type = fills_no_field(FlagShape::toggle),
          .places = {Place::command_line}};
}

Result<void> read_variables(Config& config, std::string_view path) {
  const std::string name(path);
  const auto text = read_text_file(name);
  if (!text) return text.error();
  auto variables = parse_env_file(*text, name);
  if (!variables) return variables.error();
  for (auto& [variable, value] : *variables) config.app.environment[variable] = std::move(value);
  return {};
}

Result<void> read_app_name(Config& config, std::string_view text) { return read_app(config.app, text); }

Result<void> read_command(Config& config, std::string_view word) {
  if (word.empty() && config.app.command.empty()) return Error{"names no program"};
  config.app.kind = AppKind::command;
  config.app.command.emplace_back(word);
  return {};
}

Result<void> read_bind(Config& config, std::string_view text) {
  auto address = parse_bind_address(text);
  if (!address) return address.error();
  config.listen.bind.push_back(*std::move(address));
  return {};
}

// Several may stand in one text, with commas between them.
Result<void> read_ignored_paths(Config& config, std::string_view text) {
  auto& paths = config.connections.idle_ignore;
  for (bool last = false; !last;) {
    const auto comma = text.find(',');
    const std::string_view path = text.substr(0, comma);
    last = comma == text.npos;
    text.remove_prefix(last ? text.size() : comma + 1);
    if (path.empty() || path.front() != '/') return Error{in_quotes(path) + " is no path: it begins with /"};
    for (const char c : path)
      if (c <= ' ' || c > '~' || c == '?' || c == '#')
        return Error{in_quotes(path) + " is no path as a request has it: no ?, no #, no blank, ASCII letters alone"};
    if (path.size() > longest_ignored_path)
      return Error{"a path is longer than " + std::to_string(longest_ignored_path) + " bytes"};
    if (std::ranges::find(paths, path) == paths.end()) paths.emplace_back(path);
    if (paths.size() > most_ignored_paths) return Error{"more than " + std::to_string(most_ignored_paths) + " paths"};
  }
  return {};
}

// civetweb, as Debian builds it, has no IPv6.
Error no_ipv6(std::string_view text, std::string_view host, unsigned port) {
  const std::string instead = host == "::1"  ? "127.0.0.1:"
                              : host == "::" ? "0.0.0.0:"
                                             : "an IPv4 address, as in 127.0.0.1:";
  return {in_quotes(text) + " is IPv6, and admin servers listen on IPv4 only: write " + instead + std::to_string(port)};
}

Result<TcpAddress> parse_admin_address(std::string_view text) {
  constexpr unsigned usual_port = 9000;  // README
  std::string_view host = text;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (bind_address::numeric(AF_INET6, host)) return no_ipv6(text, host, usual_port);  // its port forgotten
  const auto address = parse_bind_address(text);
  if (!address) return address.error();
  const auto* tcp = std::get_if<TcpAddress>(&*address);
  if (tcp && tcp->host.find(':') != std::string::npos) return no_ipv6(text, tcp->host, tcp->port);
  if (tcp) return *tcp;
  return Error{in_quotes(text) + " is not HOST:PORT"};
}

Result<BindAddress> parse_sidecar_address(std::string_view text) {
  auto address = parse_bind_address(text);
  if (address && std::holds_alternative<InheritedFd>(*address))
    return Error{in_quotes(text) + " is neither HOST:PORT nor unix:PATH"};
  return address;
}

Result<void> read_user(Config& config, std::string_view text) {
  auto identity = look_up_user(text);
  if (!identity) return identity.error();
  config.process.run_as = *std::move(identity);
  return {};
}

Result<void> read_group(Config& config, std::string_view text) {
  const auto gid = look_up_group(text);
  if (!gid) return gid.error();
  if (!config.process.run_as) config.process.run_as = RunAs{geteuid(), no_group, ""};
  config.process.run_as->gid = *gid;
  return {};
}

Result<std::string> parse_token(std::string_view text) {
  constexpr std::size_t shortest = 16;  // of a random token, in letters: cannot be guessed over HTTP
  for (const char c : text)
    if (c <= ' ' || c > '~') return Error{"has a blank, or a letter that is not ASCII"};
  if (text.size() < shortest) return Error{"is too short: use at least " + std::to_string(shortest) + " letters"};
  return std::string(text);
}

constexpr FlagGroup app = FlagGroup::app, server = FlagGroup::server, workers = FlagGroup::workers,
                    hanging = FlagGroup::hanging, process = FlagGroup::process, logging = FlagGroup::logging,
                    control = FlagGroup::control;

Rows app_rows() {
  return {
      {"app", 0, "APP", "", app, "MODULE:ATTR, MODULE:factory(), or native:./libapp.so",
       with(FlagShape::text, read_app_name)},
      {.name = "command",
       .group = app,
       .help = "the program to run and its arguments; on the command line: -- COMMAND ARGS...",
       .type = with(FlagShape::list, read_command),
       .places = {Place::file}},
      {"python", 0, "PATH", "python3", app, "the interpreter, or the folder of a virtual environment",
       text(&Config::app, &AppConfig::python)},
      {"preload", 0, "on|strict|off", "on", app,
       "load the app once and fork workers from it; strict: refuse an app that has threads or connections by then",
       choice<AppConfig, Preload>(&Config::app, &AppConfig::preload,
                                  {{"on", Preload::on}, {"strict", Preload::strict}, {"off", Preload::off}})},
      asked_on_command_line("no-preload", 0, "the same as --preload off: each worker loads the app", app),
      {"post-fork", 0, "MODULE:FUNC", "", app, "call this in each worker after the fork",
       reads(FlagShape::text, &Config::app, &AppConfig::post_fork, parse_python_function)},
      {"chdir", 0, "DIR", "", app, "run in this folder; other paths are taken from it",
       text(&Config::app, &AppConfig::working_directory)},
      {"env-file", 0, "FILE", "", app, "set the variables of this file for workers",
       with(FlagShape::text, read_variables)},
      {"env", 'e', "NAME=VALUE", "", app, "set a variable for workers; may be given several times",
       pairs(&Config::app, &AppConfig::environment)},
  };
}

Rows listening_rows() {
  return {
      {"bind", 'b', "ADDRESS", "127.0.0.1:8000", FlagGroup::listening,
       "HOST:PORT, [IPV6]:PORT, :PORT, unix:PATH, unix:PATH?mode=0660 or fd://N; may be given several times",
       with(FlagShape::list, read_bind)},
      {"sidecar-bind", 0, "ADDRESS", "off", FlagGroup::listening,
       "HOST:PORT or unix:PATH: a second door to the app, for a sidecar. What comes through it keeps no app awake, and "
       "is refused while the app sleeps",
       or_off(FlagShape::text, &Config::listen, &ListenConfig::sidecar, parse_sidecar_address)},
      {"backlog", 0, "N", "2048", FlagGroup::listening, "how many connections may wait to be accepted",
       number(&Config::listen, &ListenConfig::backlog, 1, 65535)},
      {"parking-max", 0, "N", "", FlagGroup::listening,
       "how many idle connections moult keeps between two workers (default: from the limit of open files, at most "
       "4096)",
       number(&Config::connections, &ConnectionsConfig::parking_max, 0, most_parked)},
      {"idle-ignore", 0, "PATH", "", FlagGroup::listening,
       "GET and HEAD of this path are health checks: no visitors, and answered by moult itself while the app sleeps; "
       "may be given several times",
       with(FlagShape::list, read_ignored_paths)},
  };
}

Rows server_rows() {
  constexpr auto part = &Config::server;
  return {
      {"worker-class", 'k', "CLASS", "auto", server,
       "auto, uvicorn, or a gunicorn worker: sync, gthread, asgi, package.module.Class",
       reads(FlagShape::text, part, &ServerConfig::worker_class, parse_worker_class)},
      {"threads", 0, "N", "", server, "threads of a gthread worker", number(part, &ServerConfig::threads, 1, 1024)},
      {"keep-alive", 0, "TIME", "75s", server, "how long an idle connection is kept: longer than the front end's",
       time(part, &ServerConfig::keep_alive, 0ms, 24h)},
      {"access-logfile", 0, "FILE", "off", server, "where the server logs requests; - is stdout",
       or_off(FlagShape::text, part, &ServerConfig::access_logfile, not_empty)},
      {"forwarded-allow-ips", 0, "IPS", "", server, "proxies whose X-Forwarded headers are trusted; '' is none",
       text_or_empty(part, &ServerConfig::forwarded_allow_ips)},
      {"root-path", 0, "PATH", "", server, "the path under which a proxy serves the app",
       text_or_empty(part, &ServerConfig::root_path)},
      {"certfile", 0, "FILE", "", server, "TLS certificate", text(part, &ServerConfig::certfile)},
      {"keyfile", 0, "FILE", "", server, "TLS key", text(part, &ServerConfig::keyfile)},
      {"server-option", 0, "NAME=VALUE", "", server,
       "any other setting of uvicorn or gunicorn; may be given several times", pairs(part, &ServerConfig::options)},
  };
}

Rows worker_rows() {
  constexpr auto part = &Config::workers;
  return {
      {"workers", 'w', "N", "1", workers, "how many workers serve",
       number(part, &WorkersConfig::count, fewest_workers, most_workers)},
      {"boot-timeout", 0, "TIME", "60s", workers, "how long a worker may take to get ready",
       time(part, &WorkersConfig::boot_timeout, 1s, 24h)},
      {"boot-attempts", 0, "N", "5", workers, "give up new code after this many failed boots",
       number(part, &WorkersConfig::boot_attempts, 1, 1000)},
      {"ready-delay", 0, "TIME", "1s", workers, "a command that does not say READY=1 is ready after this",
       time(part, &WorkersConfig::ready_delay, 0ms, 1h)},
      {"spares", 0, "N", "0", workers,
       "how many more are started and wait: they take the place of one that dies or is replaced at once",
       number(part, &WorkersConfig::spares, 0, most_spares)},
      {"reload-low-memory", 0, "", "off", workers, "on reload drop the old code before loading the new",
       toggle(part, &WorkersConfig::reload_low_memory)},
      {"timeout", 't', "TIME", "30s", hanging, "replace a worker that gives no sign of life for this long; 0 is off",
       time_or_off(&Config::hang, &HangConfig::timeout, 1s, 24h)},
      {"request-timeout", 0, "TIME", "off", hanging, "replace a worker whose oldest request is older than this",
       time_or_off(&Config::hang, &HangConfig::request_timeout, 100ms, 24h)},
      {"kill-after", 0, "TIME", "10s", hanging, "SIGKILL this long after SIGABRT or SIGTERM",
       time(&Config::hang, &HangConfig::kill_after, 100ms, 1h)},
      {"graceful-timeout", 0, "TIME", "30s", FlagGroup::stopping, "how long requests in flight may take to finish",
       time(&Config::stop, &StopConfig::graceful_timeout, 0ms, 24h)},
      {"linger-timeout", 0, "TIME", "5m", FlagGroup::stopping,
       "cut off a client that takes nothing of its answer for this long, before moult stops or sleeps; 0: do not wait",
       time(&Config::connections, &ConnectionsConfig::linger_timeout, 0ms, 24h)},
      {"stop-delay", 0, "TIME", "0", FlagGroup::stopping, "serve on for this long when told to stop",
       time(&Config::stop, &StopConfig::delay, 0ms, 1h)},
  };
}

Rows process_rows() {
  constexpr auto part = &Config::process;
  return {
      {"name", 'n', "NAME", "moult", process, "the name of this instance",
       reads(FlagShape::text, part, &ProcessConfig::name, parse_instance_name)},
      {"pid", 'p', "FILE", "", process, "write moult's process id here", text(part, &ProcessConfig::pid_file)},
      {"user", 'u', "USER", "", process, "run workers as this user (name or number)", with(FlagShape::text, read_user)},
      {"group", 'g', "GROUP", "", process, "run workers as this group (name or number)",
       with(FlagShape::text, read_group)},
      {"umask", 0, "MODE", "", process, "the umask, octal: 022",
       reads(FlagShape::text, part, &ProcessConfig::umask, parse_mode)},
  };
}

Rows log_rows() {
  constexpr auto part = &Config::log;
  return {
      {"log-level", 0, "LEVEL", "info", logging, "debug, info, warning, error or critical",
       choice<LogConfig, LogLevel>(part, &LogConfig::level,
                                   {{"debug", LogLevel::debug},
                                    {"info", LogLevel::info},
                                    {"warning", LogLevel::warning},
                                    {"error", LogLevel::error},
                                    {"critical", LogLevel::critical}})},
      {"log-format", 0, "text|json", "text", logging, "how moult writes its own log",
       choice<LogConfig, LogFormat>(part, &LogConfig::format, {{"text", LogFormat::text}, {"json", LogFormat::json}})},
      {"worker-prefix", 0, "", "off", logging, "put its slot before each line that a worker prints",
       toggle(part, &LogConfig::worker_prefix)},
      {"events", 0, "FILE", "off", logging, "write events here, one JSON object a line; - is stdout",
       or_off(FlagShape::text, part, &LogConfig::events, not_empty)},
  };
}

Rows control_rows() {
  constexpr auto part = &Config::control;
  return {
      {"control", 0, "PATH", "", control,
       "the control socket (default: moult/NAME.sock in $XDG_RUNTIME_DIR or /run, else /tmp/moult-UID/NAME.sock)",
       text(part, &ControlConfig::path)},
      {"admin", 0, "HOST:PORT", "off", control,
       "serve the status page, /metrics, /status.json, /livez, /readyz and /healthz here",
       or_off(FlagShape::text, part, &ControlConfig::admin, parse_admin_address)},
      {.name = "admin-token",
       .metavar = "TOKEN",
       .group = control,
       .help = "ask callers of --admin for this bearer token; better set as MOULT_ADMIN_TOKEN",
       .type = reads(FlagShape::text, part, &ControlConfig::token, parse_token),
       .secret = true},
      {"health-bind", 0, "HOST:PORT", "off", control,
       "serve /metrics, /livez, /readyz and /healthz alone here, for other machines",
       or_off(FlagShape::text, part, &ControlConfig::health, parse_admin_address)},
      {.name = "config",
       .letter = 'c',
       .metavar = "FILE",
       .group = FlagGroup::config,
       .help = "read flags from this JSON file; comments are allowed",
       .type = fills_no_field(FlagShape::text),
       .places = {Place::command_line, Place::environment}},
      asked_on_command_line("check-config", 0, "check all of this and exit", FlagGroup::config),
      asked_on_command_line("print-config", 0, "print all of this as a config file and exit", FlagGroup::config),
      asked_on_command_line("help", 'h', "print a short help and exit", FlagGroup::config),
  };
}
}  // namespace

const std::vector<Flag>& flags() {
  static const Rows table = [] {
    Rows all;
    for (const auto rows : {app_rows, listening_rows, server_rows, worker_rows, recycling_flags, fleet_flags,
                            schedule_flags, sleep_flags, process_rows, log_rows, control_rows})
      for (Flag& row : rows()) all.push_back(std::move(row));
    return all;
  }();
  return table;
}
}  // namespace moult
