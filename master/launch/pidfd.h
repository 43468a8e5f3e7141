#pragma once
// Owner of one child process: watches its pidfd, reaps it by that pidfd, signals it by that pidfd; so it can never hit
// a process that got the pid afterwards. A worker that was forked twice is our child too, as we are its subreaper.
// Made by ForkServer, ChannelLink and NotifyLink, on the loop's thread.
//
// When it is dead, and still a zombie (so that its number can be nobody else's group), its process group is killed:
// what it left behind must not hold its listeners. Then it is reaped.
#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>

#include "base/fd_watch.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "master/launch/orphans.h"
#include "master/pool/exit.h"
namespace moult {
class ChildProcess {
 public:
  struct Events {
    std::function<void()> dying;              // dead but not yet reaped: its pid still names it. May be empty
    std::function<void(const Exit&)> exited;  // once, last; may destroy the ChildProcess
  };
  // Fails when `pid` is no child of ours, or somebody owns it already: it then stays as it is. And when it cannot be
  // watched (out of memory): it is then killed.
  static Result<std::unique_ptr<ChildProcess>> own(uv_loop_t*, Orphans&, pid_t, UniqueFd pidfd, Events);
  // The same for a child of which only the pid is known; ESRCH or ECHILD when it is none.
  static Result<std::unique_ptr<ChildProcess>> own(uv_loop_t*, Orphans&, pid_t, Events);
  // Kills it and its group, if it lives; Orphans then reaps it.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int signal_number) const;  // SIGKILL goes to its whole group
  void settle();                         // reaps it now if it is dead

 private:
  ChildProcess(Orphans&, pid_t, UniqueFd, Events);
  void kill_group() const;

  Orphans& orphans_;
  pid_t pid_;
  UniqueFd pidfd_;
  Events events_;
  bool reaped_ = false;
  std::unique_ptr<FdWatch> watch_;
};

// The same end for a child of ours that nobody owns yet: nothing unless it is dead.
std::optional<Exit> reap_if_dead(pid_t);
}  // namespace moult
