#include "master/launch/pidfd.h"

#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <utility>

#include "master/launch/pidfd_calls.h"
namespace moult {
namespace {
Exit exit_of(const siginfo_t& info) {
  Exit exit;
  exit.pid = info.si_pid;
  if (info.si_code == CLD_EXITED) exit.status = info.si_status;
  else exit.signal = info.si_status;
  return exit;
}

// The pid is not reaped, so no other process can be the leader of a group of that number.
void kill_group_of(pid_t pid) { ::kill(-pid, SIGKILL); }

// Zero, or why the process is none of ours.
int look_for_child(int pidfd) {
  siginfo_t ignored{};
  return ::waitid(P_PIDFD, static_cast<id_t>(pidfd), &ignored, WEXITED | WNOHANG | WNOWAIT) == 0 ? 0 : errno;
}
}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::own(uv_loop_t* loop, Orphans& orphans, pid_t pid, UniqueFd pidfd,
                                                        Events events) {
  const std::string name = "process " + std::to_string(pid);
  if (orphans.is_claimed(pid)) return Error{name + " is known as another one's already", EEXIST};
  if (const int error = look_for_child(pidfd.get())) return errno_error(name + " is no child of moult's", error);
  const int watched = pidfd.get();
  std::unique_ptr<ChildProcess> child(new ChildProcess(orphans, pid, std::move(pidfd), std::move(events)));
  auto watch = FdWatch::open(loop, watched, [self = child.get()](int) { self->settle(); });
  if (!watch) return watch.error();
  child->watch_ = std::move(*watch);
  orphans.claim(pid, [self = child.get()] { self->settle(); });
  return child;
}

Result<std::unique_ptr<ChildProcess>> ChildProcess::own(uv_loop_t* loop, Orphans& orphans, pid_t pid, Events events) {
  UniqueFd pidfd(open_pidfd(pid));
  if (!pidfd) return errno_error("pidfd_open of process " + std::to_string(pid), errno);
  return own(loop, orphans, pid, std::move(pidfd), std::move(events));
}

ChildProcess::ChildProcess(Orphans& orphans, pid_t pid, UniqueFd pidfd, Events events)
    : orphans_(orphans), pid_(pid), pidfd_(std::move(pidfd)), events_(std::move(events)) {}

ChildProcess::~ChildProcess() {
  if (reaped_) return;
  signal(SIGKILL);
  orphans_.release(pid_);
}

void ChildProcess::kill_group() const { kill_group_of(pid_); }

void ChildProcess::signal(int signal_number) const {
  if (reaped_) return;
  signal_pidfd(pidfd_.get(), signal_number);
  if (signal_number == SIGKILL) kill_group();
}

void ChildProcess::settle() {
  siginfo_t info{};
  const auto id = static_cast<id_t>(pidfd_.get());
  if (reaped_ || ::waitid(P_PIDFD, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
  if (events_.dying) events_.dying();
  kill_group();
  ::waitid(P_PIDFD, id, &info, WEXITED | WNOHANG);
  reaped_ = true;
  orphans_.release(pid_);
  watch_.reset();
  const auto exited = std::move(events_.exited);
  exited(exit_of(info));
}

std::optional<Exit> reap_if_dead(pid_t pid) {
  siginfo_t info{};
  const auto id = static_cast<id_t>(pid);
  if (::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return std::nullopt;
  kill_group_of(pid);
  ::waitid(P_PID, id, &info, WEXITED | WNOHANG);
  return exit_of(info);
}
}  // namespace moult
