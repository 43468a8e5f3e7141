#include "master/recycling/recycles.h"

#include <algorithm>
#include <utility>

#include "worker/fork_protocol.h"
namespace moult {
namespace {
constexpr int sigterm = 15;  // the same everywhere; its header has more than numbers

DrainOutcome outcome(WorkerState last, const Exit& exit) {
  switch (last) {
    case WorkerState::booting:
    case WorkerState::spare:
    case WorkerState::serving:
    case WorkerState::retiring:
      if (exit.signal && exit.signal != sigterm) return DrainOutcome::killed;  // SIGTERM: how a command is told to go
      return exit.status == exit_with_requests_cut ? DrainOutcome::deadline : DrainOutcome::clean;
    case WorkerState::terminating: return DrainOutcome::deadline;
    case WorkerState::aborting:
    case WorkerState::killed: break;
  }
  return DrainOutcome::killed;
}

// What has begun as routine may have become urgent while its successor booted.
bool more_urgent(const Decision& latest, const Recycle& than) {
  const auto* recycle = std::get_if<Recycle>(&latest);
  return recycle && recycle->urgency > than.urgency;
}

Duration over(std::uint64_t limit_bytes, const Evidence& known, Duration lasted, Duration since) {
  return known.rss_bytes >= limit_bytes ? lasted + since : Duration{};
}
}  // namespace

const char* name(DrainOutcome outcome) {
  switch (outcome) {
    case DrainOutcome::clean: return "clean";
    case DrainOutcome::deadline: return "deadline";
    case DrainOutcome::killed: break;
  }
  return "killed";
}

void Recycles::begun(const Worker& worker, pid_t pid, const BeginRecycle& recycle, const Granted& granted,
                     std::vector<HeldFor> holds, MonotonicTime now) {
  RecycleRecord record;
  record.worker = {worker.slot, pid, worker.generation};
  record.why = recycle.why;
  record.gate = granted;
  record.order = recycle.order;
  record.holds = std::move(holds);
  if (last_at_) record.gap = now - *last_at_;
  in_hand_[worker.id] = {std::move(record), now, std::nullopt};
  last_at_ = now;
}

AlarmChange Recycles::retiring(const Worker& worker, std::optional<std::uint64_t> requests, std::uint64_t freed_bytes,
                               MonotonicTime now) {
  const auto found = in_hand_.find(worker.id);
  if (found == in_hand_.end()) return AlarmChange::none;
  auto& [record, decided_at, retired_at] = found->second;
  if (more_urgent(worker.decision, record.why)) {
    record.why = std::get<Recycle>(worker.decision);
    decided_at = now;
  }
  const Evidence& known = record.why.evidence;
  record.over_limit = over(known.limit_bytes, known, known.over_limit, now - decided_at);
  record.over_hard = over(known.hard_limit_bytes, known, known.over_hard, now - decided_at);
  record.lifetime = known.lifetime + (now - decided_at);
  record.freed_bytes = freed_bytes;
  retired_at = now;
  if (!requests) return AlarmChange::none;
  auto step = record_life(std::move(lifetimes_), record.why.cause, {*requests, record.lifetime}, alarm_);
  lifetimes_ = std::move(step.lifetimes);
  return step.change;
}

void Recycles::forget_abandoned(const Pool& pool) {
  std::erase_if(in_hand_, [&](const auto& each) {
    const auto& [worker, recycle] = each;
    return !recycle.retired_at && std::ranges::find(pool.turns, worker, &Turn::outgoing) == pool.turns.end();
  });
}

std::optional<RecycleRecord> Recycles::gone(const Worker& worker, const Exit& exit, const LastLook& seen,
                                            MonotonicTime now) {
  auto found = in_hand_.extract(worker.id);
  if (!found || !found.mapped().retired_at) return std::nullopt;  // it crashed before it was told to go
  RecycleRecord record = std::move(found.mapped().record);
  record.requests = seen.requests;
  record.handed_over = seen.handed_over;
  record.drain = outcome(worker.state, exit);
  record.drained_for = now - *found.mapped().retired_at;
  return record;
}

std::optional<Cause> Recycles::cause(WorkerId id) const {
  const auto found = in_hand_.find(id);
  return found == in_hand_.end() ? std::nullopt : std::optional(found->second.record.why.cause);
}
}  // namespace moult
