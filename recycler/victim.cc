#include "recycler/victim.h"

#include <algorithm>
namespace moult {
namespace {
std::uint64_t less(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

std::uint64_t frees(const Footprint& worker) { return less(worker.private_bytes, worker.boot_private_bytes); }

std::uint64_t missing(const HeadroomLook& look, const RecyclePolicy& policy) {
  return less(less(policy.min_headroom_bytes, look.headroom_bytes), look.being_freed_bytes);
}
}  // namespace

bool under_pressure(const HeadroomLook& look, const RecyclePolicy& policy) { return missing(look, policy) > 0; }

std::optional<Pressure> choose_victim(const HeadroomLook& look, std::span<const Footprint> workers,
                                      const PressureHistory& history, const RecyclePolicy& policy, MonotonicTime now) {
  if (workers.empty() || !under_pressure(look, policy)) return std::nullopt;
  const Footprint& most = *std::ranges::max_element(workers, {}, frees);
  Pressure pressure{most.worker, frees(most), std::max(least_to_free_bytes, missing(look, policy)), std::nullopt};
  if (now < history.stopped_until) {
    pressure.held = HoldReason::pressure_futile;
    pressure.until = history.stopped_until;
  } else if (pressure.frees_bytes < pressure.needs_bytes) {
    pressure.held = HoldReason::nothing_to_free;
    pressure.until = now + policy.sample_far;
  }
  return pressure;
}

std::uint64_t freed_bytes(const RecycleBefore& before, std::uint64_t headroom_bytes, std::uint64_t own_bytes) {
  const auto was = static_cast<std::int64_t>(before.headroom_bytes + before.own_bytes + before.successor_bytes);
  const auto is = static_cast<std::int64_t>(headroom_bytes + own_bytes);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(is - was, 0));
}

PressureHistory after_pressure_recycle(PressureHistory history, std::uint64_t freed_bytes, std::uint64_t needed_bytes,
                                       MonotonicTime now) {
  if (freed_bytes >= needed_bytes) return {0, history.stopped_until};
  if (++history.futile < most_futile) return history;
  return {0, now + futile_pause};
}
}  // namespace moult
