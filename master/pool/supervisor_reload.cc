// The supervisor's reloads: how one begins, and when it has ended.
#include <utility>

#include "master/pool/pool_parts.h"
#include "master/pool/supervisor.h"
namespace moult {
void Supervisor::reload(std::function<void(const ReloadOutcome&)> finished) {
  if (generations_.state().state == LoadState::ceased) return finished({false, "moult is stopping", {}});
  // Who waits for an earlier reload now waits for this one: it loads what the earlier one would have loaded, or newer
  // code.
  PendingReload pending = std::exchange(reload_, std::nullopt).value_or(PendingReload{});
  pending.finished.push_back(std::move(finished));
  pending.failed.reset();
  generations_.post(Reload{});
  pending.generation = generations_.state().newest;
  reload_ = std::move(pending);
}

// Every slot serves the new code, and nobody new can meet the old one: who retires has said that it stopped accepting,
// or is gone. Or it failed, and nobody new can meet what was refused.
void Supervisor::settle_reload() {
  if (reload_ && reload_->failed && !accepts_visitors(reload_->generation)) end_reload(std::string(*reload_->failed));
  const Pool& pool = pool_.state();
  if (!reload_ || !pool.turns.empty()) return;
  if (pool.goal.mode == Mode::sleep ? !up_while_asleep(reload_->generation) : pool.goal.proven < reload_->generation)
    return;
  unsigned renewed = 0;
  for (const Worker& w : pool.workers) {
    if (w.generation < reload_->generation && attached_.at(w.id).accepts) return;
    renewed += w.state == WorkerState::serving && wanted(pool, w);
  }
  if (renewed < target(pool)) return;
  const PendingReload ended = std::move(*std::exchange(reload_, std::nullopt));
  if (pool.goal.mode == Mode::sleep) tell([&](WorkerObserver& o) { o.reloaded_asleep(ended.generation); });
  for (const auto& finished : ended.finished) finished({true, "", ended.generation});
  reload_ended();
}

// Nobody serves it yet, and it is loaded; where spares are kept, one of it has started.
bool Supervisor::up_while_asleep(Generation generation) const {
  const Pool& pool = pool_.state();
  return pool.goal.candidate >= generation && (pool.goal.spares == 0 || spare_waits(pool, pool.goal.candidate));
}

// One that still boots may accept as well: its server listens before it says READY.
bool Supervisor::accepts_visitors(Generation generation) const {
  return std::ranges::any_of(pool_.state().workers,
                             [&](const Worker& w) { return w.generation == generation && attached_.at(w.id).accepts; });
}

void Supervisor::end_reload(const std::string& error) {
  if (!reload_) return;
  const PendingReload ended = std::move(*std::exchange(reload_, std::nullopt));
  for (const auto& finished : ended.finished) finished({false, error, ended.generation});
  reload_ended();
}

void Supervisor::reload_ended() {
  if (drops_warmth_after_reload_) drop_warmth();
}
}  // namespace moult
