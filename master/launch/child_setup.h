#pragma once
// What happens in the child between fork and exec. The master may have threads (admin server, log writer), so nothing
// here allocates, locks or calls anything that is not async-signal-safe; all memory is laid out before the fork.
// Called by spawn() alone.
#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>
#include <optional>

#include "master/launch/spawn.h"
namespace moult {
// Which call failed. The words are the master's business: the child only sends the number.
enum class ChildStage : int {
  process_group,
  descriptors,
  standard_input,
  open_files,
  groups,
  group,
  user,
  directory,
  death_signal,
  parent_gone,
  exec
};

struct ChildReport {
  ChildStage stage;
  int error;
};

// Borrowed pointers into memory of the parent, of which the child has its own copy.
struct ChildPlan {
  const char* program;
  char* const* arguments;
  char* const* environment;
  char* listen_pid_digits;  // ten bytes inside `environment`, or null
  const FdMapping* fds;
  int* spare_numbers;  // scratch, one for each of fds
  std::size_t fd_count;
  int above_all_targets;     // a number that no fd is wanted under
  const char* directory;     // null: stay
  const Identity* identity;  // null: stay
  const mode_t* umask;
  const rlimit* open_files;
  const char* oom_score_adj;  // digits, or null
  pid_t parent;
  int report_fd;  // CLOEXEC: its end of file says that exec worked
};

[[noreturn]] void run_child(const ChildPlan&);
}  // namespace moult
