#include "master/launch/spawn.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>

#include "master/launch/child_setup.h"
#include "master/launch/launch_failure.h"
#include "master/launch/pidfd_calls.h"
#include "master/launch/program_path.h"
namespace moult {
namespace {
constexpr int most_oom_score_adj = 1000;  // proc(5)
constexpr char listen_pid_entry[] = "LISTEN_PID=\0\0\0\0\0\0\0\0\0\0";

std::string stage_name(ChildStage stage, const SpawnRequest& request, const std::string& program) {
  switch (stage) {
    case ChildStage::process_group: return "setpgid";
    case ChildStage::descriptors: return "dup2";
    case ChildStage::standard_input: return "open /dev/null";
    case ChildStage::open_files: return "setrlimit";
    case ChildStage::groups: return "setgroups";
    case ChildStage::group: return "setgid";
    case ChildStage::user: return "setuid";
    case ChildStage::directory: return "chdir " + request.directory;
    case ChildStage::death_signal: return "prctl";
    case ChildStage::parent_gone: return "fork";
    case ChildStage::exec: break;
  }
  return "exec " + program;
}

// Owns all that a ChildPlan points to.
struct PreparedChild {
  PreparedChild(const SpawnRequest& request, const std::string& program, int report_fd)
      : listen_pid(listen_pid_entry, sizeof listen_pid_entry),
        oom(request.oom_score_adj ? std::to_string(*request.oom_score_adj) : ""),
        spare_numbers(request.fds.size()) {
    for (const std::string& each : request.command) arguments.push_back(const_cast<char*>(each.c_str()));
    for (const std::string& each : request.environment) environment.push_back(const_cast<char*>(each.c_str()));
    if (request.says_listen_pid) environment.push_back(listen_pid.data());
    arguments.push_back(nullptr);
    environment.push_back(nullptr);
    if (request.open_files_soft && ::getrlimit(RLIMIT_NOFILE, &open_files) == 0)
      open_files.rlim_cur = std::min(*request.open_files_soft, open_files.rlim_max);
    int above = 3;
    for (const FdMapping& each : request.fds) above = std::max(above, each.theirs + 1);
    plan = {.program = program.c_str(),
            .arguments = arguments.data(),
            .environment = environment.data(),
            .listen_pid_digits = request.says_listen_pid ? listen_pid.data() + sizeof "LISTEN_PID=" - 1 : nullptr,
            .fds = request.fds.data(),
            .spare_numbers = spare_numbers.data(),
            .fd_count = request.fds.size(),
            .above_all_targets = above,
            .directory = request.directory.empty() ? nullptr : request.directory.c_str(),
            .identity = request.identity ? &*request.identity : nullptr,
            .umask = request.umask ? &*request.umask : nullptr,
            .open_files = request.open_files_soft ? &open_files : nullptr,
            .oom_score_adj = request.oom_score_adj ? oom.c_str() : nullptr,
            .parent = ::getpid(),
            .report_fd = report_fd};
  }
  PreparedChild(const PreparedChild&) = delete;
  PreparedChild& operator=(const PreparedChild&) = delete;

  std::vector<char*> arguments, environment;
  std::string listen_pid, oom;
  std::vector<int> spare_numbers;
  rlimit open_files{};
  ChildPlan plan{};
};

// Forks with a pidfd in one step; where a seccomp filter or an old kernel knows no clone3, in two (nobody else waits
// for our children, so the pid cannot be another's in between). Zero in the child, like fork().
pid_t fork_with_pidfd(int& pidfd) {
  clone_args arguments{};
  arguments.flags = CLONE_PIDFD;
  arguments.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  const auto cloned = static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
  if (cloned >= 0 || (errno != ENOSYS && errno != EPERM)) return cloned;
  const pid_t forked = ::fork();
  if (forked > 0) pidfd = open_pidfd(forked);
  return forked;
}

void reap(pid_t pid) {
  siginfo_t ignored{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &ignored, WEXITED) != 0 && errno == EINTR) {}
}

// Signals stay blocked until the child has put them to their defaults: a handler of libuv's that ran in the child would
// write into the loop's own pipe.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~AllSignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  sigset_t before_;
};
}  // namespace

std::variant<Spawned, Exit> spawn(const SpawnRequest& request) {
  if (request.command.empty()) return launch_failure("exec", ENOENT);
  const Result<std::string> program = find_program(request.command.front(), request.environment);
  if (!program) return launch_failure("exec " + request.command.front(), program.error().code);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return launch_failure("pipe", errno);
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  PreparedChild child(request, *program, writing.get());

  const AllSignalsBlocked blocked;
  int pidfd_number = -1;
  const pid_t pid = fork_with_pidfd(pidfd_number);
  if (pid == 0) run_child(child.plan);
  if (pid < 0) return launch_failure("fork", errno);
  const int pidfd_error = errno;
  UniqueFd pidfd(pidfd_number);
  writing.reset();
  if (!pidfd) {
    ::kill(pid, SIGKILL);
    reap(pid);
    return launch_failure("pidfd_open", pidfd_error);
  }

  ChildReport report{};
  ssize_t got;
  do got = ::read(reading.get(), &report, sizeof report);
  while (got < 0 && errno == EINTR);
  if (got != sizeof report) return Spawned{pid, std::move(pidfd)};
  reap(pid);
  return launch_failure(stage_name(report.stage, request, *program), report.error);
}

int oom_score_adj_above_ours(int more) {
  int ours = 0;
  std::ifstream("/proc/self/oom_score_adj") >> ours;
  return std::clamp(ours + more, ours, most_oom_score_adj);
}
}  // namespace moult
