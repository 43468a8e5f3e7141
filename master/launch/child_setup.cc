#include "master/launch/child_setup.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
namespace moult {
namespace {
constexpr int failed_before_exec = 127;  // nobody reads it: the report says more
constexpr int highest_signal = 64;

[[noreturn]] void fail(int report_fd, ChildStage stage, int error) {
  const ChildReport report{stage, error};
  // The pipe is empty and a report is shorter than PIPE_BUF: it is written whole or the master is gone.
  [[maybe_unused]] const ssize_t written = ::write(report_fd, &report, sizeof report);
  ::_exit(failed_before_exec);
}

// First everything moves out of the way of the wanted numbers, then into place: so `ours` and `theirs` may overlap.
// Gives back where the report now goes to.
int place_descriptors(const ChildPlan& plan) {
  ::syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC);  // an old kernel: all that moult opened is CLOEXEC anyway
  const int report = ::fcntl(plan.report_fd, F_DUPFD_CLOEXEC, plan.above_all_targets);
  if (report < 0) fail(plan.report_fd, ChildStage::descriptors, errno);
  for (std::size_t i = 0; i < plan.fd_count; ++i) {
    plan.spare_numbers[i] = ::fcntl(plan.fds[i].ours, F_DUPFD_CLOEXEC, plan.above_all_targets);
    if (plan.spare_numbers[i] < 0) fail(report, ChildStage::descriptors, errno);
  }
  bool has_input = false;
  for (std::size_t i = 0; i < plan.fd_count; ++i) {
    if (::dup2(plan.spare_numbers[i], plan.fds[i].theirs) < 0) fail(report, ChildStage::descriptors, errno);
    has_input = has_input || plan.fds[i].theirs == 0;
  }
  if (has_input) return report;
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0) fail(report, ChildStage::standard_input, errno);
  if (nothing == 0 ? ::fcntl(0, F_SETFD, 0) < 0 : ::dup2(nothing, 0) < 0)
    fail(report, ChildStage::standard_input, errno);
  return report;
}

// While still root, and while /proc/self is still ours (a change of user takes it away).
void raise_oom_score(const char* digits) {
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, digits, std::strlen(digits));
  ::close(file);
}

// By system call: glibc's functions of these names speak to the other threads, of which the child has none.
void become(const Identity& identity, int report) {
  if (::syscall(SYS_setgroups, identity.groups.size(), identity.groups.data()) != 0)
    fail(report, ChildStage::groups, errno);
  if (::syscall(SYS_setresgid, identity.group, identity.group, identity.group) != 0)
    fail(report, ChildStage::group, errno);
  if (::syscall(SYS_setresuid, identity.user, identity.user, identity.user) != 0) fail(report, ChildStage::user, errno);
}

void reset_signals() {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number <= highest_signal; ++number) ::sigaction(number, &standard, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void write_own_pid(char* digits) {
  auto rest = static_cast<unsigned>(::getpid());
  char reversed[10];
  std::size_t count = 0;
  do {
    reversed[count++] = static_cast<char>('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  for (std::size_t i = 0; i < count; ++i) digits[i] = reversed[count - 1 - i];
  digits[count] = '\0';
}
}  // namespace

void run_child(const ChildPlan& plan) {
  if (::setpgid(0, 0) != 0) fail(plan.report_fd, ChildStage::process_group, errno);
  if (plan.oom_score_adj) raise_oom_score(plan.oom_score_adj);
  const int report = place_descriptors(plan);
  if (plan.umask) ::umask(*plan.umask);
  if (plan.open_files && ::setrlimit(RLIMIT_NOFILE, plan.open_files) != 0) fail(report, ChildStage::open_files, errno);
  if (plan.identity) become(*plan.identity, report);
  if (plan.directory && ::chdir(plan.directory) != 0) fail(report, ChildStage::directory, errno);
  // After setresuid, which clears it. If moult died before this line, nobody would ever send the signal: so look.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail(report, ChildStage::death_signal, errno);
  if (::getppid() != plan.parent) fail(report, ChildStage::parent_gone, ESRCH);
  reset_signals();
  if (plan.listen_pid_digits) write_own_pid(plan.listen_pid_digits);
  ::execve(plan.program, plan.arguments, plan.environment);
  fail(report, ChildStage::exec, errno);
}
}  // namespace moult
