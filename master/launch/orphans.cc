#include "master/launch/orphans.h"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
namespace moult {
namespace {
// One sweep costs about 3 microseconds for each of the dead. More of them wait for the loop's next turn.
constexpr int most_in_one_turn = 256;

pid_t some_dead_child() {
  siginfo_t found{};
  if (::waitid(P_ALL, 0, &found, WEXITED | WNOWAIT | WNOHANG) != 0) return 0;
  return found.si_pid;
}
}  // namespace

Result<std::unique_ptr<Orphans>> Orphans::adopt(uv_loop_t* loop) {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return errno_error("cannot become the reaper of orphans", errno);
  std::unique_ptr<Orphans> orphans(new Orphans(loop));
  auto memory = std::make_unique<uv_signal_t>();
  int error = uv_signal_init(loop, memory.get());
  if (error < 0) return errno_error("cannot listen for SIGCHLD", -error);
  uv_signal_t* signal = memory.release();  // closed by libuv from now on
  signal->data = orphans.get();
  orphans->signal_.reset(signal);
  error = uv_signal_start(
      signal, [](uv_signal_t* s, int) { static_cast<Orphans*>(s->data)->sweep(); }, SIGCHLD);
  if (error < 0) return errno_error("cannot listen for SIGCHLD", -error);
  orphans->later_.run([self = orphans.get()] { self->sweep(); });  // those that died before we listened
  return orphans;
}

Orphans::~Orphans() = default;

void Orphans::claim(pid_t pid, std::function<void()> dead) { claimed_[pid] = std::move(dead); }

bool Orphans::settle_owner(pid_t pid) {
  const auto owner = claimed_.find(pid);
  if (owner == claimed_.end()) return false;
  const auto dead = owner->second;  // a copy: it releases the claim
  dead();
  return true;
}

void Orphans::sweep() {
  for (int looks = 0; looks < most_in_one_turn; ++looks) {
    const pid_t pid = some_dead_child();
    if (pid == 0) return;
    if (settle_owner(pid)) continue;
    if (read_hellos_) read_hellos_();
    if (settle_owner(pid)) continue;
    siginfo_t ignored{};
    if (::waitid(P_PID, static_cast<id_t>(pid), &ignored, WEXITED | WNOHANG) == 0) ++reaped_;
  }
  later_.run([this] { sweep(); });
}
}  // namespace moult
