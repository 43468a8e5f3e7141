#include "master/recycling/pressure_watch.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/machine.h"
namespace moult {
namespace {
constexpr Duration pressure_window = std::chrono::seconds(2);  // the kernel tells of it once in so long (arm_pressure)

double falling(std::uint64_t before, std::uint64_t after, Duration since) {
  const double seconds = std::chrono::duration<double>(since).count();
  return after < before && seconds > 0 ? static_cast<double>(before - after) / seconds : 0;
}
}  // namespace

PressureWatch::PressureWatch(uv_loop_t* loop, const MinHeadroom& min_headroom, Calls calls)
    : min_headroom_(min_headroom), calls_(std::move(calls)) {
  for (const std::string& folder : memory_.oom_groups())
    calls_.say(folder +
               "/memory.oom.group is 1: when memory runs out there, the kernel kills moult together with a worker. "
               "Set it to 0");
  arm(loop);
}

// Often not allowed, or not there: the looks at their usual times must do then.
void PressureWatch::arm(uv_loop_t* loop) {
  auto psi = memory_.arm_pressure();
  if (!psi) return;
  psi_ = *std::move(psi);
  auto made = std::make_unique<uv_poll_t>();
  if (uv_poll_init(loop, made.get(), psi_.get()) != 0) return;
  poll_ = UvHandle<uv_poll_t>(made.release());
  poll_->data = this;
  const auto fired = [](uv_poll_t* poll, int status, int) {
    auto& watch = *static_cast<PressureWatch*>(poll->data);
    const MonotonicTime at = monotonic_now(poll->loop);
    const bool again = watch.stalled_at_ && at - *watch.stalled_at_ < pressure_window / 2;
    watch.stalled_at_ = at;
    if (status != 0 || again) return (void)uv_poll_stop(poll);  // once a window, unless the cgroup is gone
    watch.calls_.stalled();
  };
  uv_poll_start(poll_.get(), UV_PRIORITIZED, fired);
}

void PressureWatch::look(Duration at_most, MonotonicTime now) {
  if (last_ && now - looked_at_ < at_most) return;
  const Duration since = now - std::exchange(looked_at_, now);
  auto seen = memory_.look();
  if (seen) {
    falls_bytes_per_second_ = last_ ? falling(last_->headroom_bytes, seen->headroom_bytes, since) : 0;
    last_ = *std::move(seen);
    limit_bytes_ = last_->limit_bytes;
    said_unreadable_ = false;
    note_shortage();
    return;
  }
  last_.reset();
  if (!std::exchange(said_unreadable_, true))
    calls_.say("how much memory is left cannot be read, so nobody is recycled for pressure: " + seen.error().message);
}

// It is over when there is a tenth more than the minimum: headroom that wavers about it is one shortage.
void PressureWatch::note_shortage() {
  const std::uint64_t least = min_headroom_bytes(), ends_at = least + (is_short_ ? least / 10 : 0);
  const bool was_short = std::exchange(is_short_, last_->headroom_bytes < ends_at);
  if (is_short_ && !was_short) ++times_short_;
}

std::uint64_t PressureWatch::min_headroom_bytes() const {
  if (!last_ || min_headroom_.percent <= 0) return min_headroom_.bytes;
  return static_cast<std::uint64_t>(
      std::llround(static_cast<double>(last_->limit_bytes) * min_headroom_.percent / 100));
}

MonotonicTime PressureWatch::next_look(const RecyclePolicy& policy) const {
  const std::uint64_t least = min_headroom_bytes(), left = headroom_bytes();
  if (least == 0 || !last_) return looked_at_ + policy.sample_far;
  if (left <= least + least / 10) return looked_at_ + policy.sample_near;
  const double seconds = static_cast<double>(left - least) / std::max(falls_bytes_per_second_, 1.0) / 4;
  const double far = std::chrono::duration<double>(policy.sample_far).count();
  const auto wait = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::min(seconds, far)));
  return looked_at_ + std::max(policy.sample_near, wait);
}

bool PressureWatch::is_on(RecyclePolicy policy, std::uint64_t being_freed_bytes) const {
  policy.min_headroom_bytes = last_ ? min_headroom_bytes() : 0;
  return under_pressure({headroom_bytes(), being_freed_bytes}, policy);
}

std::optional<Pressure> PressureWatch::judge(const Workers& workers, RecyclePolicy policy, MonotonicTime now) {
  policy.min_headroom_bytes = last_ ? min_headroom_bytes() : 0;
  const HeadroomLook look{headroom_bytes(), workers.being_freed_bytes};
  const bool pressure = is_on(policy, workers.being_freed_bytes);
  judge_recycles(workers, pressure, now);
  return pressure ? choose_victim(look, workers.footprints(), history_, policy, now) : std::nullopt;
}

void PressureWatch::recycle_begun(WorkerId victim, std::uint64_t needs_bytes, std::uint64_t own_bytes,
                                  std::uint64_t successor_bytes) {
  to_be_judged_[victim] = {needs_bytes, {headroom_bytes(), own_bytes, successor_bytes}, std::nullopt};
}

void PressureWatch::victim_gone(WorkerId victim, MonotonicTime now) {
  if (const auto found = to_be_judged_.find(victim); found != to_be_judged_.end()) found->second.gone_at = now;
  look(Duration::zero(), now);
}

void PressureWatch::judge_recycles(const Workers& workers, bool pressure, MonotonicTime now) {
  if (!last_) return;
  for (auto each = to_be_judged_.begin(); each != to_be_judged_.end();) {
    const PastRecycle recycle = each->second;
    if (!recycle.gone_at || (!pressure && now - *recycle.gone_at < of_use_after)) {
      ++each;
      continue;
    }
    each = to_be_judged_.erase(each);
    const std::uint64_t freed = freed_bytes(recycle.before, last_->headroom_bytes, workers.own_bytes());
    const MonotonicTime stopped_before = history_.stopped_until;
    history_ = after_pressure_recycle(history_, freed, recycle.needs_bytes, now);
    if (history_.stopped_until != stopped_before) calls_.futile(history_.stopped_until - now);
  }
}
}  // namespace moult
