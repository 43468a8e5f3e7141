#pragma once
// Where workers come from: ForkServers (an app that is loaded once and forked) or ExecLauncher (any command).
// Called by the Supervisor alone, on the loop's thread. Callbacks are never made from inside the call they answer.
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "master/pool/pool.h"
#include "master/pool/worker_link.h"
namespace moult {
struct LoadEvents {
  std::function<void(Generation)> loaded;
  std::function<void(Generation, const Error& cause)> load_failed;  // the cause has the traceback, if there is one
  // Its fork server is gone, after `loaded`; those it forked live on. Whoever hears it loads the next generation.
  std::function<void(Generation, const Exit&)> lost;
};

class Launcher {
 public:
  virtual ~Launcher() = default;
  // Loads the app's code as it is on disk now. Answers with exactly one of loaded and load_failed.
  virtual void load(Generation, const LoadEvents&) = 0;
  // Never fails by itself: a launch that did not work is `gone` with its stage and errno.
  virtual std::unique_ptr<WorkerLink> launch(const Spawn&, const LinkEvents&) = 0;
  // Nobody will be launched from this generation any more (it loads, it serves, or it is unknown: all the same).
  virtual void drop(Generation) = 0;
  virtual pid_t fork_server_pid(Generation) const = 0;  // zero: none
  // Processes of its own (fork servers, also those that were dropped) that are not gone yet.
  virtual std::size_t running() const { return 0; }
};
}  // namespace moult
