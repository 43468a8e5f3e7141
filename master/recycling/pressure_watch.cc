#include "master/recycling/pressure_watch.h"

#include <algorithm>
#include <cmath>
#include <utility>
namespace moult {
PressureWatch::PressureWatch(uv_loop_t* loop, const MinHeadroom& min_headroom, std::function<void()> stalled,
                             std::function<void(const std::string&)> say)
    : min_headroom_(min_headroom), stalled_(std::move(stalled)), say_(std::move(say)) {
  for (const std::string& folder : memory_.oom_groups())
    say_(folder +
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
    if (status == 0) return watch.stalled_();
    uv_poll_stop(poll);  // the cgroup is gone
  };
  uv_poll_start(poll_.get(), UV_PRIORITIZED, fired);
}

void PressureWatch::look(Duration at_most, MonotonicTime now) {
  if (last_ && now - looked_at_ < at_most) return;
  looked_at_ = now;
  auto seen = memory_.look();
  if (seen) {
    last_ = *std::move(seen);
    said_unreadable_ = false;
    return;
  }
  last_.reset();
  if (!std::exchange(said_unreadable_, true))
    say_("how much memory is left cannot be read, so nobody is recycled for pressure: " + seen.error().message);
}

std::uint64_t PressureWatch::min_headroom_bytes() const {
  if (!last_ || min_headroom_.percent <= 0) return min_headroom_.bytes;
  return static_cast<std::uint64_t>(
      std::llround(static_cast<double>(last_->limit_bytes) * min_headroom_.percent / 100));
}

std::optional<Pressure> PressureWatch::judge(const std::function<std::vector<Footprint>()>& footprints,
                                             std::uint64_t being_freed_bytes, RecyclePolicy policy, MonotonicTime now) {
  policy.min_headroom_bytes = last_ ? min_headroom_bytes() : 0;
  const HeadroomLook look{headroom_bytes(), being_freed_bytes};
  if (!under_pressure(look, policy)) {
    held_.reset();
    return std::nullopt;
  }
  if (held_ && now < held_->until) return held_;
  const auto pressure = choose_victim(look, footprints(), history_, policy, now);
  held_ = pressure && pressure->held ? pressure : std::nullopt;
  return pressure;
}

void PressureWatch::recycle_begun(std::uint64_t needs_bytes, std::uint64_t others_bytes) {
  in_hand_ = InHand{needs_bytes, headroom_bytes(), others_bytes};
}

std::optional<MonotonicTime> PressureWatch::victim_gone(std::uint64_t others_bytes, MonotonicTime now) {
  if (!in_hand_) return std::nullopt;
  const InHand begun = *std::exchange(in_hand_, std::nullopt);
  look(Duration::zero(), now);
  if (!last_) return std::nullopt;
  const std::uint64_t after = headroom_bytes() + std::max(others_bytes, begun.others_bytes) - begun.others_bytes;
  const std::uint64_t freed = after > begun.headroom_bytes ? after - begun.headroom_bytes : 0;
  const MonotonicTime stopped_before = history_.stopped_until;
  history_ = after_pressure_recycle(history_, freed, begun.needs_bytes, now);
  if (history_.stopped_until == stopped_before) return std::nullopt;
  return history_.stopped_until;
}
}  // namespace moult
