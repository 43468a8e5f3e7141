#pragma once
// What `moult run` was told, in typed fields, grouped by the part of moult that uses them. Plain data; immutable for
// the life of a process image. Included by config/, instance.cc and main.cc only: instance.cc fills each room's own
// options. The defaults are in the flag table (flag_table.cc), so none are repeated here.
#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/bind_address.h"
#include "base/log_level.h"
#include "lease/redis_url.h"
#include "master/config/units.h"
#include "master/sleep/scheduled_call.h"
namespace moult {
enum class AppKind { python, native, command };
enum class Preload { on, strict, off };
struct AppConfig {
  AppKind kind = AppKind::python;
  std::string target;                // python: MODULE:ATTR or MODULE:factory(); native: absolute path of the .so
  std::vector<std::string> command;  // command: the program and its arguments
  std::string python;                // python: absolute path of the interpreter
  Preload preload = Preload::on;
  std::optional<std::string> post_fork;  // MODULE:FUNC
  std::string working_directory;         // absolute; where the app runs, and what relative paths were resolved against
  std::map<std::string, std::string> environment;  // to set for workers, over moult's own: --env-file, then --env
  bool operator==(const AppConfig&) const = default;
};

// The HTTP server inside the workers; passed through.
struct ServerConfig {
  std::string worker_class;                    // auto, uvicorn, or a gunicorn class
  std::map<std::string, std::string> options;  // --server-option
  milliseconds keep_alive{};                   // zero: each connection carries one request
  std::optional<unsigned> threads;
  std::optional<std::string> forwarded_allow_ips;  // none: as the server has it; empty: nobody is trusted
  std::optional<std::string> root_path, certfile, keyfile;
  std::optional<std::string> access_logfile;  // "-" is stdout
  bool operator==(const ServerConfig&) const = default;
};

struct ListenConfig {
  std::vector<BindAddress> bind;  // unix paths are absolute; empty: no listener was asked for and systemd passes some
                                  // (LISTEN_FDS), which are then the only ones
  unsigned backlog = 0;
  std::optional<BindAddress> sidecar;  // none: there is no such door; never an inherited descriptor
  bool operator==(const ListenConfig&) const = default;
};

// Of clients, between two workers and after the last one.
struct ConnectionsConfig {
  std::optional<unsigned> parking_max;   // none: follows from the limit of open files
  std::vector<std::string> idle_ignore;  // paths, each with its slash
  milliseconds linger_timeout{};         // zero: nobody waits for what is on its way to them
  bool operator==(const ConnectionsConfig&) const = default;
};

struct WorkersConfig {
  unsigned count = 0;
  milliseconds boot_timeout{};
  unsigned boot_attempts = 0;
  milliseconds ready_delay{};  // only for a command that does not say READY=1
  bool reload_low_memory = false;
  unsigned spares = 0;  // kept while awake
  bool operator==(const WorkersConfig&) const = default;
};

struct HangConfig {
  std::optional<milliseconds> timeout, request_timeout;  // none: off
  milliseconds kill_after{};
  bool operator==(const HangConfig&) const = default;
};

struct StopConfig {
  milliseconds graceful_timeout{}, delay{};
  bool operator==(const StopConfig&) const = default;
};

// Whom the workers and the fork server run as.
struct RunAs {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string user_name;  // for its supplementary groups; empty: there is no passwd entry, or only --group was given
  bool operator==(const RunAs&) const = default;
};
struct ProcessConfig {
  std::string name;
  std::optional<std::string> pid_file;
  std::optional<RunAs> run_as;  // none: as moult itself
  std::optional<mode_t> umask;  // none: inherited
  bool operator==(const ProcessConfig&) const = default;
};

struct LogConfig {
  LogLevel level = LogLevel::info;
  LogFormat format = LogFormat::text;
  bool worker_prefix = false;
  std::optional<std::string> events;  // a file; "-" is stdout
  bool operator==(const LogConfig&) const = default;
};

struct ControlConfig {
  std::string path;  // of the control socket: --control, or what belongs to --name
  std::optional<TcpAddress> admin;
  std::optional<std::string> token;  // for the admin server; never printed or logged
  std::optional<TcpAddress> health;  // /livez /readyz /healthz alone
  bool operator==(const ControlConfig&) const = default;
};

// When a worker is replaced (recycler/policy.h says more of each).
enum class MemoryLimit { off, given, automatic };
enum class RunwayRule { refuse, raise };
enum class ReplaceRule { automatic, successor_first, in_place };
struct RecyclingConfig {
  MemoryLimit memory_limit = MemoryLimit::off;
  Size memory_limit_size;
  double limit_jitter_percent = 0;
  std::optional<Size> limit_spread, hard_limit,
      min_runway;  // none: follow from the limit, and from what a worker weighs
  RunwayRule runway = RunwayRule::refuse;
  Size min_headroom;
  unsigned max_requests = 0, max_requests_jitter = 0;  // zero: off
  std::optional<milliseconds> max_lifetime;            // none: off
  milliseconds max_lifetime_jitter{};
  milliseconds sample_near{}, sample_far{}, cooldown{}, defer_max{};
  std::optional<milliseconds> urgent_cooldown;     // none: 1 s, or the cooldown where that is less
  std::optional<double> busy_requests_per_second;  // none: off
  ReplaceRule replace = ReplaceRule::automatic;
  unsigned alarm_requests_p10 = 0, alarm_window = 0;
  std::optional<std::string> on_alarm;  // a shell command
  bool operator==(const RecyclingConfig&) const = default;
};

// What the fleet may afford.
struct RecycleRate {
  enum class Per { worker, fleet, unlimited };
  double per_hour = 0;
  Per per = Per::worker;
  bool operator==(const RecycleRate&) const = default;
};
struct FleetConfig {
  std::optional<RedisAddress> store;    // none: this instance is its own fleet
  std::optional<std::string> password;  // of the store; never printed or logged
  std::string name;                     // of the fleet
  std::optional<std::string> ca;        // a file, for rediss://
  milliseconds urgent_wait{};
  unsigned lease_permits = 0;
  milliseconds lease_ttl{};
  RecycleRate recycle_rate;
  unsigned recycle_burst = 0;
  unsigned min_healthy_percent = 0;
  bool operator==(const FleetConfig&) const = default;
};

struct ScheduleConfig {
  std::vector<ScheduledCall> calls;  // in the order of the file; none: nothing is scheduled
  bool operator==(const ScheduleConfig&) const = default;
};

// When nobody calls (master/sleep/idle.h says more of each).
enum class Warmth { spare, fork_server, nothing };
struct SleepConfig {
  milliseconds idle{};  // zero: it never sleeps by itself
  Warmth warmth = Warmth::fork_server;
  milliseconds warm_for{}, wake_timeout{};
  std::optional<std::string> state_dir;          // absolute
  std::optional<std::string> on_sleep, on_wake;  // shell commands
  bool operator==(const SleepConfig&) const = default;
};

struct Config {
  AppConfig app;
  ServerConfig server;
  ListenConfig listen;
  ConnectionsConfig connections;
  WorkersConfig workers;
  HangConfig hang;
  StopConfig stop;
  ProcessConfig process;
  LogConfig log;
  ControlConfig control;
  RecyclingConfig recycling;
  FleetConfig fleet;
  ScheduleConfig schedule;
  SleepConfig sleep;
  bool operator==(const Config&) const = default;
};
}  // namespace moult
