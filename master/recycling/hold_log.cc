#include "master/recycling/hold_log.h"

#include <algorithm>

#include "master/pool/pool_parts.h"
namespace moult {
namespace {
Evidence evidence_of(const Decision& decision) {
  return std::visit(Match{[](const Keep&) { return Evidence{}; }, [](const auto& judged) { return judged.evidence; }},
                    decision);
}

bool is_being_replaced(const Pool& pool, const Worker& worker) {
  return std::ranges::any_of(pool.turns, [&](const Turn& turn) {
    return turn.outgoing == worker.id && turn.stage == TurnStage::replacing && turn.order == Order::successor_first;
  });
}

std::optional<HeldBack> hold_of(const Pool& pool, const Worker& worker, MonotonicTime now) {
  if (worker.state != WorkerState::serving || is_being_replaced(pool, worker)) return std::nullopt;
  if (const auto* hold = std::get_if<Hold>(&worker.decision)) return HeldBack{hold->why, hold->until};
  return held_back(pool, worker, now);
}

void add(std::vector<HeldFor>& to, HoldReason why, Duration lasted) {
  const auto same = std::ranges::find(to, why, &HeldFor::why);
  if (same != to.end()) same->lasted += lasted;
  else to.push_back({why, lasted});
}
}  // namespace

std::vector<HoldChange> HoldLog::update(const Pool& pool, MonotonicTime now) {
  std::vector<HoldChange> changes;
  std::map<WorkerId, HeldBack> holds;
  for (const Worker& worker : pool.workers) {
    const auto before = holding(worker.id);
    if (const auto hold = hold_of(pool, worker, now)) holds[worker.id] = *hold;
    else if (before && is_of_the_gate(before->why) && gate_is_asked(pool, worker))
      holds[worker.id] = *before;  // the answer may be the same again
  }
  for (auto it = holding_.begin(); it != holding_.end();) {
    const auto& [worker, held] = *it;
    const auto still = holds.find(worker);
    if (still != holds.end() && still->second.why == held.now.why) {
      ++it;
      continue;
    }
    changes.push_back({worker, held.now.why, std::nullopt, {}, now - held.since});
    add(past_[worker], held.now.why, now - held.since);
    it = holding_.erase(it);
  }
  for (const auto& [worker, hold] : holds) {
    const auto [known, is_new] = holding_.try_emplace(worker, Holding{hold, now});
    known->second.now = hold;
    if (is_new) changes.push_back({worker, hold.why, hold, evidence_of(find(pool, worker)->decision), {}});
  }
  std::erase_if(past_, [&](const auto& each) { return !find(pool, each.first); });
  return changes;
}

std::optional<HeldBack> HoldLog::holding(WorkerId worker) const {
  const auto found = holding_.find(worker);
  return found == holding_.end() ? std::nullopt : std::optional(found->second.now);
}

std::optional<HeldFor> HoldLog::end(WorkerId worker, MonotonicTime now) {
  const auto held = holding_.extract(worker);
  if (!held) return std::nullopt;
  return HeldFor{held.mapped().now.why, now - held.mapped().since};
}

std::vector<HeldFor> HoldLog::so_far(WorkerId worker, MonotonicTime now) const {
  const auto past = past_.find(worker);
  std::vector<HeldFor> all = past == past_.end() ? std::vector<HeldFor>() : past->second;
  if (const auto held = holding_.find(worker); held != holding_.end())
    add(all, held->second.now.why, now - held->second.since);
  return all;
}
}  // namespace moult
