#include "master/config/check_config.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
namespace moult {
namespace {
std::string origin_of(const Settings& settings, std::string_view name) {
  const auto setting = settings.find(name);
  return setting == settings.end() ? "--" + std::string(name) : setting->second.origin;
}

// In one way of writing, so that equal places have equal texts. Empty: two of these never collide.
std::string place_of(const BindAddress& address) {
  const auto* tcp = std::get_if<TcpAddress>(&address);
  if (!tcp) return to_text(address);
  if (tcp->port == 0) return "";  // the kernel chooses
  in6_addr parsed{};
  char written[INET6_ADDRSTRLEN];
  if (inet_pton(AF_INET6, tcp->host.c_str(), &parsed) != 1) return to_text(address);
  return to_text(TcpAddress{inet_ntop(AF_INET6, &parsed, written, sizeof written), tcp->port});
}

class Places {
 public:
  Result<void> take(const BindAddress& address, const std::string& origin) {
    const std::string place = place_of(address);
    if (place.empty()) return {};
    const auto [taken, is_new] = by_.emplace(place, origin);
    if (is_new) return {};
    if (taken->second == origin) return Error{origin + ": " + place + " is given twice"};
    return Error{origin + ": " + place + " is taken by " + taken->second + " already"};
  }

 private:
  std::map<std::string, std::string> by_;
};

Result<void> check_addresses(const Config& config, const Settings& settings) {
  Places places;
  for (const auto& address : config.listen.bind) {
    if (const auto taken = places.take(address, origin_of(settings, "bind")); !taken) return taken;
  }
  if (config.control.admin) {
    const auto taken = places.take(*config.control.admin, origin_of(settings, "admin"));
    if (!taken) return taken;
  }
  if (config.listen.sidecar) {
    const auto taken = places.take(*config.listen.sidecar, origin_of(settings, "sidecar-bind"));
    if (!taken) return taken;
  }
  if (!config.control.health) return {};
  return places.take(*config.control.health, origin_of(settings, "health-bind"));
}

Result<void> check_admin(const Config& config, const Settings& settings) {
  const auto& admin = config.control.admin;
  if (!admin || config.control.token || is_loopback(*admin)) return {};
  return Error{origin_of(settings, "admin") + ": " + to_text(*admin) +
               " can be reached from other machines: set MOULT_ADMIN_TOKEN, or use 127.0.0.1 (for health checks alone "
               "there is --health-bind)"};
}

Result<void> check_tls(const Config& config, const Settings& settings) {
  const auto& server = config.server;
  if (server.keyfile && !server.certfile) return Error{origin_of(settings, "keyfile") + ": needs --certfile too"};
  for (const auto& [name, path] : {std::pair{"certfile", server.certfile}, std::pair{"keyfile", server.keyfile}}) {
    if (!path) continue;
    std::error_code error;
    if (std::filesystem::is_directory(*path, error))
      return Error{origin_of(settings, name) + ": " + *path + " is a folder: name the file"};
    if (access(path->c_str(), R_OK) != 0)
      return errno_error(origin_of(settings, name) + ": cannot read " + *path, errno);
  }
  return {};
}

// That a file can be written there. What is `replaced` comes as a new file over the old one.
Result<void> check_written(const std::string& path, const std::string& origin, bool replaced) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::is_directory(path, error)) return Error{origin + ": " + path + " is a folder: name the file"};
  const std::string folder = fs::path(path).parent_path().string();
  if (!fs::is_directory(folder, error)) return Error{origin + ": there is no folder " + folder + ": make it first"};
  const bool is_there = access(path.c_str(), F_OK) == 0 && !replaced;
  if (access(is_there ? path.c_str() : folder.c_str(), is_there ? W_OK : W_OK | X_OK) == 0) return {};
  return errno_error(origin + ": cannot write " + path, errno);
}

// The access log is written by workers: with --user nobody knows here whether they may.
Result<void> check_written_files(const Config& config, const Settings& settings) {
  struct File {
    const char* flag;
    std::optional<std::string> path;
    bool replaced;
  };
  const std::optional<std::string> none;
  const bool by_us = !config.process.run_as && config.app.kind == AppKind::python;
  for (const File& file : {File{"pid", config.process.pid_file, true}, File{"events", config.log.events, false},
                           File{"access-logfile", by_us ? config.server.access_logfile : none, false}})
    if (file.path && *file.path != "-")
      if (auto checked = check_written(*file.path, origin_of(settings, file.flag), file.replaced); !checked)
        return checked;
  return {};
}

// Whether another moult answers there is found at the start.
Result<void> check_control(const Config& config, const Settings& settings) {
  const std::string& path = config.control.path;
  struct stat seen {};
  if (::lstat(path.c_str(), &seen) != 0 || S_ISSOCK(seen.st_mode)) return {};
  return Error{origin_of(settings, "control") + ": " + path +
               " is there and is no socket: remove it, or choose another"};
}

Result<void> check_spares(const Config& config, const Settings& settings) {
  if (config.workers.spares == 0) return {};
  const std::string origin = origin_of(settings, "spares");
  if (config.app.kind == AppKind::command)
    return Error{origin + ": a command serves as soon as it is started, so that none can wait: leave it out"};
  if (config.recycling.replace == ReplaceRule::in_place)
    return Error{origin +
                 ": a spare is a successor that is there already, and --replace in-place has none: leave one "
                 "of the two out"};
  return {};
}

// A command has one kind of door, and moult does not see who came through which.
Result<void> check_sidecar(const Config& config, const Settings& settings) {
  if (!config.listen.sidecar || config.app.kind != AppKind::command) return {};
  return Error{origin_of(settings, "sidecar-bind") +
               ": a command does not know this door: leave it out, and let the command listen at a port of its own"};
}

// Files are replaced there.
Result<void> check_state_folder(const Config& config, const Settings& settings) {
  if (!config.sleep.state_dir) return {};
  const std::string& folder = *config.sleep.state_dir;
  const std::string origin = origin_of(settings, "state-dir");
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error))
    return Error{origin + ": there is no folder " + folder + ": make it first"};
  if (access(folder.c_str(), R_OK | W_OK | X_OK) == 0) return {};
  return errno_error(origin + ": cannot write into " + folder, errno);
}

// When nobody called a command for a while is not known yet.
Result<void> check_sleep(const Config& config, const Settings& settings) {
  const bool is_command = config.app.kind == AppKind::command;
  if (is_command && config.sleep.idle > milliseconds::zero())
    return Error{origin_of(settings, "idle") +
                 ": this version does not see whether a command is idle: leave it out, and let 'moult sleep' say when"};
  return check_state_folder(config, settings);
}

Result<void> check_fleet(const Config& config, const Settings& settings) {
  const auto& fleet = config.fleet;
  if (!fleet.store) return {};
  if (fleet.name.empty())
    return Error{
        origin_of(settings, "fleet") +
        ": instances that share a budget share a name: say --fleet-name, the same for all instances of one app"};
  if (!fleet.store->password.empty() && origin_of(settings, "fleet") == "--fleet")
    return Error{
        "--fleet: a password in an argument can be read in ps by every user here: set MOULT_FLEET_PASSWORD, or "
        "say ?password-file=PATH in the URL, or set MOULT_FLEET to all of it"};
  if (!fleet.ca || access(fleet.ca->c_str(), R_OK) == 0) return {};
  return errno_error(origin_of(settings, "fleet-ca") + ": cannot read " + *fleet.ca, errno);
}
Result<void> check_schedule(const Config& config, const Settings& settings) {
  const auto& calls = config.schedule.calls;
  if (calls.empty()) return {};
  const std::string origin = origin_of(settings, "schedule");
  if (config.app.kind == AppKind::command)
    return Error{origin + ": a command cannot be called: it does not know the door by which scheduled calls come. " +
                 "Leave the schedule out, or run an app"};
  const auto of_the_fleet = std::ranges::find(calls, Scope::fleet, &ScheduledCall::scope);
  if (of_the_fleet == calls.end() || config.fleet.store) return {};
  return Error{
      origin + ": '" + of_the_fleet->name +
      "': scope: fleet needs the store that the fleet shares: say --fleet redis://HOST/ and --fleet-name, or " +
      "leave scope out, and each instance makes the call"};
}
}  // namespace

bool is_loopback(const TcpAddress& address) {
  in_addr parsed{};
  if (inet_pton(AF_INET, address.host.c_str(), &parsed) == 1) return (ntohl(parsed.s_addr) >> 24) == 127;
  in6_addr six{};
  return inet_pton(AF_INET6, address.host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

Result<void> check_config(const Config& config, const Settings& settings) {
  if (const auto checked = check_addresses(config, settings); !checked) return checked;
  if (const auto checked = check_admin(config, settings); !checked) return checked;
  if (const auto checked = check_tls(config, settings); !checked) return checked;
  if (const auto checked = check_written_files(config, settings); !checked) return checked;
  if (const auto checked = check_control(config, settings); !checked) return checked;
  if (const auto checked = check_spares(config, settings); !checked) return checked;
  if (const auto checked = check_sidecar(config, settings); !checked) return checked;
  if (const auto checked = check_schedule(config, settings); !checked) return checked;
  if (const auto checked = check_sleep(config, settings); !checked) return checked;
  return check_fleet(config, settings);
}

std::vector<std::string> warnings_about(const Config& config, const Settings& settings) {
  std::vector<std::string> warnings;
  const auto has_no_effect = [&](std::string_view name, const std::string& why) {
    const auto setting = settings.find(name);
    if (setting == settings.end() || setting->second.values == std::vector{std::string(find_flag(name)->default_text)})
      return;  // or it says what holds anyway, as --print-config does
    warnings.push_back(origin_of(settings, name) + " has no effect: " + why);
  };
  if (config.app.kind == AppKind::command) {
    for (const auto name : {"python", "preload", "post-fork", "reload-low-memory", "worker-class", "threads",
                            "keep-alive", "access-logfile", "forwarded-allow-ips", "root-path", "certfile", "keyfile",
                            "server-option", "request-timeout", "idle-ignore"})
      has_no_effect(name, "a command is started as it is");
    for (const auto name : {"warmth", "warm-for"}) has_no_effect(name, "a command is started anew at each wake");
    for (const auto name : {"max-requests", "max-requests-jitter", "busy-rps", "alarm-requests-p10", "alarm-window"})
      has_no_effect(name, "nobody counts the requests of a command");
  } else {
    has_no_effect("ready-delay", "an app says itself when it is ready");
  }
  if (config.app.kind == AppKind::native) has_no_effect("python", "a native app has no Python");
  if (config.app.kind == AppKind::python && config.server.worker_class == "uvicorn")
    has_no_effect("threads", "uvicorn serves with one loop; -k gthread has threads");
  if (config.server.certfile)
    has_no_effect("idle-ignore", "requests over TLS are read by workers alone; --health-bind answers health checks");
  if (config.recycling.memory_limit == MemoryLimit::off)
    for (const auto name : {"limit-jitter", "limit-spread", "hard-limit", "min-runway", "runway"})
      has_no_effect(name, "there is no --memory-limit");
  if (config.recycling.max_requests == 0 && config.app.kind != AppKind::command)
    has_no_effect("max-requests-jitter", "there is no --max-requests");
  if (!config.recycling.max_lifetime) has_no_effect("max-lifetime-jitter", "there is no --max-lifetime");
  if (config.recycling.max_requests > 0 && config.app.kind != AppKind::command && !settings.contains("recycle-rate"))
    warnings.push_back(origin_of(settings, "max-requests") +
                       ": of each worker at most one replacement an hour, and one in --cooldown of all: set "
                       "--recycle-rate and --cooldown to how often it is meant");
  if (!config.fleet.store)
    for (const auto name : {"fleet-name", "fleet-password", "fleet-ca", "urgent-wait"})
      has_no_effect(name, "--fleet is local");
  if (config.fleet.store && config.fleet.store->kind != RedisAddress::Kind::tls)
    has_no_effect("fleet-ca", "only rediss:// has certificates");
  if (!config.control.admin) has_no_effect("admin-token", "there is no --admin");
  const auto token = settings.find("admin-token");
  if (token != settings.end() && token->second.origin == "--admin-token")
    warnings.push_back("--admin-token can be read in ps by every user here: set MOULT_ADMIN_TOKEN instead");
  return warnings;
}
}  // namespace moult
