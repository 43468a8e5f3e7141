#include "master/pool/health_watch.h"

#include <utility>
#include <vector>
namespace moult {
namespace {
VitalSigns read_signs(const WorkerLink& link) {
  VitalSigns signs{link.heartbeat(), std::nullopt};
  const ScoreboardMemory* board = link.scoreboard();
  const std::uint64_t oldest_ns = board ? board->read(ScoreboardField::oldest_plain_request_ns) : 0;
  if (oldest_ns) signs.oldest_plain_request = MonotonicTime(std::chrono::nanoseconds(oldest_ns));
  return signs;
}
}  // namespace

HealthWatch::HealthWatch(uv_loop_t* loop, const HealthPolicy& policy, Supervisor& supervisor)
    : loop_(loop),
      policy_(policy),
      supervisor_(supervisor),
      last_look_(monotonic_now(loop)),
      timer_(make_timer(loop, this)) {
  const auto every = look_every(policy);
  if (!every) return;
  const auto period_ms =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(*every).count());
  uv_timer_start(
      timer_.get(), [](uv_timer_t* t) { static_cast<HealthWatch*>(t->data)->look(); }, period_ms, period_ms);
}

void HealthWatch::look() {
  // When our own look comes late, the whole machine or cgroup stood still (a pause, a freezer, a debugger), and the
  // workers with it: their silence proves nothing. They are judged at the next look.
  const MonotonicTime now = monotonic_now(loop_);
  const Duration pause = now - std::exchange(last_look_, now);
  if (pause >= 2 * look_every(policy_).value()) return;

  std::vector<std::pair<WorkerId, std::string>> hung;  // told afterwards: telling changes the pool
  for (const Worker& worker : supervisor_.pool().workers) {
    const WorkerLink* link = worker.state == WorkerState::serving ? supervisor_.link(worker.id) : nullptr;
    if (!link) continue;
    if (auto why = hung_because(read_signs(*link), policy_, now)) hung.emplace_back(worker.id, std::move(*why));
  }
  for (const auto& [id, why] : hung) supervisor_.hung(id, why);
}
}  // namespace moult
