#pragma once
// Why a worker is gone. One form for a process that ended and for one that never came to be: a boot fails in one way
// only.
#include <sys/types.h>

#include <optional>
#include <string>
namespace moult {
struct Exit {
  pid_t pid = 0;              // zero: there never was a process
  std::optional<int> status;  // exit status; none: killed by a signal, or nobody could ask
  std::optional<int> signal;
  std::string stage;  // where moult's own launch failed ("fork", "exec", "chdir", "setuid", ...); else empty
  int error = 0;      // errno of that stage
  std::string cause;  // the worker's last words: a traceback or its last STATUS; may be empty, may have newlines
};

// "exited with status 3", "killed by SIGSEGV (core dumped)", "exec /usr/bin/nope: No such file or directory".
std::string describe(const Exit&);
}  // namespace moult
