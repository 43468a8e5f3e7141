#pragma once
// What all that moult launches has in common. Filled by Instance from the command line, once.
#include <functional>
#include <string>
#include <vector>

#include "master/launch/output_relay.h"
#include "master/launch/spawn.h"
namespace moult {
enum class OutputRoute {
  inherit,  // moult's own stdout and stderr: costs nothing, but a worker waits when nobody reads them
  relay,    // through the master, one pipe for all: nobody waits; lines are lost and counted when the sink is full
  prefixed  // through the master, a pipe a worker: each line begins with its slot, "[2] "
};

struct ChildSettings {
  std::vector<std::string> environment;  // child_environment()
  std::string directory;                 // --chdir; empty: ours
  std::optional<mode_t> umask;
  std::optional<Identity> identity;
  std::optional<rlim_t> open_files_soft;  // as moult was started with
  OutputRoute output = OutputRoute::inherit;
  OutputSink sink;  // for relay and prefixed
};

// A listening socket of the master's. Its number stays the master's; what it is in a child, the launcher says.
struct InheritedListener {
  int fd;
  std::string address;  // as a person writes it
  std::string family;   // inet, inet6, unix
};

inline SpawnRequest spawn_request(const ChildSettings& settings) {
  return {.command = {},
          .environment = settings.environment,
          .fds = {},
          .directory = settings.directory,
          .umask = settings.umask,
          .identity = settings.identity,
          .oom_score_adj = std::nullopt,
          .open_files_soft = settings.open_files_soft};
}

// The kernel kills workers first, then the fork server (its death costs a load of the app), then moult.
inline constexpr int worker_oom_score_above_ours = 500;
inline constexpr int fork_server_oom_score_above_ours = 250;
}  // namespace moult
