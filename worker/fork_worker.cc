#include "worker/fork_worker.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "base/unique_fd.h"
#include "worker/fork_protocol.h"
namespace moult {
namespace {
// A worker outlives its intermediate parent by well under a millisecond; the bound is for a machine that stands still.
constexpr int most_parent_looks = 100'000;
constexpr timespec between_parent_looks{0, 100'000};  // 0.1 ms: 10 s in all
// Far above any ordinary process's, below 1000, which means "kill this one first, whatever it holds".
constexpr int oom_score_raise = 500;

// Everything from here to say_hello() runs in a fork of a process that may have had threads: async-signal-safe calls
// only, no allocation.
void say(int channel_fd, std::string_view datagram) {
  while (::send(channel_fd, datagram.data(), datagram.size(), MSG_NOSIGNAL) < 0 && errno == EINTR) {}
}

// With HELLO, so that the master learns whose words these are.
[[noreturn]] void fail(const WorkerBirth& birth, std::string_view stage, int error) {
  constexpr std::string_view cause = "\nERROR=the worker could not start: ";
  char text[128] = "HELLO=";
  char* end = std::to_chars(text + 6, std::end(text), contract_version).ptr;
  end = std::copy_n(cause.data(), cause.size(), end);
  end = std::copy_n(stage.data(), std::min<std::size_t>(stage.size(), 40), end);
  end = std::copy_n(", errno ", 8, end);
  end = std::to_chars(end, std::end(text), error).ptr;
  say(birth.channel_fd, {text, end});
  ::_exit(1);
}

void wait_for_parent(const WorkerBirth& birth, pid_t intermediate) {
  int looks = 0;
  while (::getppid() == intermediate && ++looks < most_parent_looks) ::nanosleep(&between_parent_looks, nullptr);
  if (::getppid() != birth.master_pid) fail(birth, "waiting for the master as its parent", ECHILD);
}

void die_with_the_master(const WorkerBirth& birth) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail(birth, "prctl", errno);
  if (::getppid() != birth.master_pid) ::_exit(1);  // it died just before: nobody to tell
}

void reset_signals() {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &standard, nullptr);  // KILL and STOP refuse
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// As good as it can be had: a worker that the kernel does not prefer still serves.
void raise_oom_score() {
  const int fd = ::open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  char text[16] = {};
  int score = 0;
  const ssize_t length = ::read(fd, text, sizeof text - 1);
  if (length > 0) std::from_chars(text, text + length, score);
  const char* end = std::to_chars(text, std::end(text), std::min(score + oom_score_raise, 1000)).ptr;
  [[maybe_unused]] const ssize_t written = ::write(fd, text, static_cast<std::size_t>(end - text));
  ::close(fd);
}

void redirect(const WorkerBirth& birth, int from, int to) {
  if (from >= 0 && ::dup2(from, to) < 0) fail(birth, "dup2", errno);
}

void say_hello(const WorkerBirth& birth) {
  char text[32] = "HELLO=";
  const char* end = std::to_chars(text + 6, std::end(text), contract_version).ptr;
  say(birth.channel_fd, {text, end});
}

[[noreturn]] void live(const WorkerBirth& birth, pid_t intermediate, const std::function<int()>& life) {
  ::close(birth.fork_server_channel_fd);
  wait_for_parent(birth, intermediate);
  die_with_the_master(birth);
  if (::setpgid(0, 0) != 0) fail(birth, "setpgid", errno);
  reset_signals();
  raise_oom_score();
  redirect(birth, birth.stdout_fd, STDOUT_FILENO);
  redirect(birth, birth.stderr_fd, STDERR_FILENO);
  say_hello(birth);
  std::exit(life());
}

// Between the fork server and the process between: a pid, or a negative errno; and the same again, as the answer.
void tell(int fd, pid_t word) {
  while (::send(fd, &word, sizeof word, MSG_NOSIGNAL) < 0 && errno == EINTR) {}
}

// Zero: the other end is gone.
pid_t hear(int fd) {
  pid_t word = 0;
  ssize_t got;
  do got = ::read(fd, &word, sizeof word);
  while (got < 0 && errno == EINTR);
  return got == sizeof word ? word : 0;
}

struct Ends {
  int servers, betweens;
};

// Exits when the fork server has passed on what it is told, or is gone.
[[noreturn]] void stand_between(const WorkerBirth& birth, const Ends& ends, const std::function<int()>& life) {
  ::close(ends.servers);
  const pid_t self = ::getpid();
  const pid_t worker = ::fork();
  if (worker == 0) {
    ::close(ends.betweens);
    live(birth, self, life);
  }
  tell(ends.betweens, worker < 0 ? -errno : worker);
  hear(ends.betweens);
  ::_exit(0);
}
}  // namespace

std::optional<BirthFailure> fork_worker(const WorkerBirth& birth, const std::function<void(pid_t)>& born,
                                        const std::function<int()>& life) {
  std::fflush(nullptr);  // or what waits in a buffer would be written twice
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return BirthFailure{"socketpair", errno};
  UniqueFd ours(ends[0]), theirs(ends[1]);
  const pid_t intermediate = ::fork();
  if (intermediate == 0) stand_between(birth, {ours.get(), theirs.get()}, life);
  if (intermediate < 0) return BirthFailure{"fork", errno};
  theirs.reset();
  const pid_t word = hear(ours.get());
  if (word > 0) born(word);
  tell(ours.get(), word);
  ours.reset();
  while (::waitpid(intermediate, nullptr, 0) < 0 && errno == EINTR) {}
  if (word > 0) return std::nullopt;
  // Zero: it was killed. A worker that was forked all the same ends by itself when the master closes its end.
  return BirthFailure{"fork", word < 0 ? -word : EINTR};
}
}  // namespace moult
