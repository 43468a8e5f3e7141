#pragma once
// What a fork server is told: the JSON object of docs/fork-protocol.md. Filled by Instance from the command line, the
// same for every generation; the fork servers in worker/ read it.
#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "master/launch/child_settings.h"
namespace moult {
struct ForkServerSettings {
  std::string app;
  std::string preload = "on";  // on, strict, off
  std::optional<std::string> post_fork;
  std::string worker_class = "auto";
  std::map<std::string, std::string> server_options;
  std::vector<InheritedListener> listeners;
  std::optional<int> internal_fd;  // the master's number of the internal door
  std::optional<int> sidecar_fd;   // and of the sidecar's
  Duration keep_alive{};
  Duration graceful_timeout{};
  Duration timeout{};
  Duration request_timeout{};  // zero: off
  int backlog = 2048;
  std::optional<int> threads;
  std::string log_level = "info";
  std::optional<std::string> access_logfile, forwarded_allow_ips, root_path, certfile, keyfile;
  std::vector<std::string> idle_ignore;
  bool spares = false;  // some will be launched: what they copy beforehand is to be found out
};

struct WrittenSettings {
  std::string json;
  std::vector<FdMapping> fds;  // the listeners and the other doors, under the numbers that the JSON names
};
// The listeners get numbers from `first_fd` on.
WrittenSettings write_settings(const ForkServerSettings&, pid_t master, int first_fd);

// A memfd that nobody can change any more, read from its beginning.
Result<UniqueFd> sealed_memory(const std::string& content);
}  // namespace moult
