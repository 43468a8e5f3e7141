#pragma once
// Which launcher an instance needs, and how it comes to rest. Called by Instance.
#include <memory>
#include <variant>

#include "master/launch/exec_launcher.h"
#include "master/launch/fork_servers.h"
namespace moult {
using LaunchOptions = std::variant<ForkServersOptions, ExecOptions>;
Result<std::unique_ptr<Launcher>> make_launcher(uv_loop_t*, Orphans&, LaunchOptions);

// Turns the loop until no process of the launcher's own lives; they are killed after ForkServer::patience, so that is
// the bound.
void wait_until_idle(uv_loop_t*, const Launcher&);
}  // namespace moult
