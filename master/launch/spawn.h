#pragma once
// Starts one program as the master's own child: the only place in the master that forks. Called by the launchers, on
// the main thread (PDEATHSIG fires when the *thread* that forked ends), and answers when the program runs or could not:
// that blocks the loop for one exec, about 1-3 ms.
//
// The child leads a process group of its own (so Ctrl-C in a terminal reaches moult alone), is killed by the kernel
// when moult dies (unless the program is setuid or has file capabilities: exec then clears that), has every signal at
// its default and none blocked, and no descriptor but 0, 1, 2 and those it is given.
#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/unique_fd.h"
#include "master/pool/exit.h"
namespace moult {
struct Identity {  // of --user and --group
  uid_t user;
  gid_t group;
  std::vector<gid_t> groups;
};

struct FdMapping {
  int ours;
  int theirs;  // its number in the child; those of two may overlap with each other's `ours`
};

struct SpawnRequest {
  std::vector<std::string> command;      // the first is sought on the PATH of `environment` unless it has a slash
  std::vector<std::string> environment;  // KEY=VALUE; all of it
  std::vector<FdMapping> fds;            // stdin is /dev/null, stdout and stderr are ours unless named here
  std::string directory;                 // empty: ours. Entered as the new user
  std::optional<mode_t> umask;
  std::optional<Identity> identity;       // none: as moult runs
  std::optional<int> oom_score_adj;       // tried: a system that refuses it is no reason not to run
  std::optional<rlim_t> open_files_soft;  // RLIMIT_NOFILE as moult was started with; none: as it is now
  bool says_listen_pid = false;           // LISTEN_PID=<the child's own pid> is added to the environment
};

struct Spawned {
  pid_t pid;
  UniqueFd pidfd;
};

// An Exit with stage and errno when it could not be started ("exec /usr/bin/nope", ENOENT); nothing is left then.
std::variant<Spawned, Exit> spawn(const SpawnRequest&);

// What a child's oom_score_adj is when it should die `more` before moult does: never below moult's own, never above
// 1000, so it holds for a container whose own value is high (Kubernetes) as well.
int oom_score_adj_above_ours(int more);
}  // namespace moult
