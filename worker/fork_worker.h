#pragma once
// How the native fork server makes a worker: two forks, so that the worker becomes the master's own child
// (fork_protocol.h). Called by the fork server, which has one thread of its own.
#include <sys/types.h>

#include <functional>
#include <optional>
namespace moult {
struct WorkerBirth {
  pid_t master_pid;
  int channel_fd;      // the worker's end
  int stdout_fd = -1;  // -1: the fork server's own
  int stderr_fd = -1;
  int fork_server_channel_fd;  // closed in the worker: or the fork server's death would give the master no end
};
struct BirthFailure {
  const char* stage;  // the call
  int error;          // errno
};

// In the fork server: returns nothing when the worker's process exists, or why not. `born` is called with its pid
// before it can be the master's child. In the worker: leads a process group, dies with the master, has default signal
// handlers, is preferred by the OOM killer, has said HELLO; then runs `life` and exits with what it returns. A step
// that fails there is told to the master as ERROR, and the worker exits with 1.
std::optional<BirthFailure> fork_worker(const WorkerBirth&, const std::function<void(pid_t)>& born,
                                        const std::function<int()>& life);
}  // namespace moult
