#include "master/pool/generations.h"

#include <algorithm>
namespace moult {
namespace {
using Actions = std::vector<GenerationsAction>;

bool can_fork(const Generations& g, Generation generation) { return std::ranges::count(g.loaded, generation) > 0; }

void forget(Generations& g, Generation generation, Actions& actions) {
  std::erase(g.loaded, generation);
  actions.push_back(Drop{generation});
}

void load_next(Generations& g, Actions& actions) {
  g.newest = Generation{g.newest.value + 1};
  g.state = LoadState::loading;
  actions.push_back(Load{g.newest});
}

void give_up(Generations& g, Actions& actions) {
  g.state = LoadState::ceased;
  actions.push_back(NothingLoads{g.newest});
}

// A load that nobody asked for: the first at once, then after a back-off.
void recover(Generations& g, const GenerationsPolicy& policy, MonotonicTime now, Actions& actions) {
  if (!g.proven && g.recovery.failures >= policy.first_attempts) return give_up(g, actions);
  g.recovery = failed(g.recovery, policy.backoff, now, g.random);
  if (g.recovery.retry_at <= now) return load_next(g, actions);
  g.state = LoadState::waiting;
}

void reload(Generations& g, const GenerationsPolicy& policy, Actions& actions) {
  if (g.state == LoadState::loading) actions.push_back(Drop{g.newest});
  if (policy.before_reload == BeforeReload::drop_the_old) {
    for (const Generation old : std::vector<Generation>(g.loaded)) {
      forget(g, old, actions);
      actions.push_back(AnnounceLost{old});
    }
  }
  load_next(g, actions);
}

void on_loaded(Generations& g, Generation generation, MonotonicTime now, Actions& actions) {
  if (g.state != LoadState::loading || generation != g.newest) return;  // superseded
  g.state = LoadState::resting;
  g.loaded.push_back(generation);
  g.loaded_at = now;
  actions.push_back(AnnounceLoaded{generation});
}

void on_load_failed(Generations& g, Generation generation, const GenerationsPolicy& policy, MonotonicTime now,
                    Actions& actions) {
  if (g.state != LoadState::loading || generation != g.newest) return;
  if (!g.proven && g.loaded.empty()) return give_up(g, actions);
  actions.push_back(ReloadFailed{generation});
  g.state = LoadState::resting;
  if (!g.loaded.empty()) return;
  if (!g.needed) {
    g.state = LoadState::cold;
    return;
  }
  g.recovery.failures = std::max(g.recovery.failures, 1u);  // it was tried just now: not again at once
  recover(g, policy, now, actions);
}

void on_lost(Generations& g, Generation generation, const GenerationsPolicy& policy, MonotonicTime now,
             Actions& actions) {
  if (!can_fork(g, generation)) return;
  const bool was_newest = generation == g.newest;
  forget(g, generation, actions);
  actions.push_back(AnnounceLost{generation});
  if (was_newest && generation != g.proven && !g.loaded.empty()) actions.push_back(ReloadFailed{generation});
  if (was_newest && now - g.loaded_at >= policy.stable_after) g.recovery = {};
  if (g.state == LoadState::resting && g.loaded.empty()) recover(g, policy, now, actions);
}

void on_proven(Generations& g, Generation generation, Actions& actions) {
  g.proven = generation;
  for (const Generation old : std::vector<Generation>(g.loaded))
    if (old < generation) forget(g, old, actions);
}

void on_rejected(Generations& g, Generation generation, Actions& actions) {
  if (!can_fork(g, generation)) return;
  forget(g, generation, actions);
  actions.push_back(ReloadFailed{generation});
}

// A load in hand is whose reload fails: what it wished is on disk, and is loaded at the next wake.
void drop_all(Generations& g, Actions& actions) {
  if (!g.proven) return;  // what was never seen to serve is not put away untried
  if (g.state == LoadState::loading) {
    actions.push_back(Drop{g.newest});
    actions.push_back(ReloadFailed{g.newest});
  }
  for (const Generation each : std::vector<Generation>(g.loaded)) {
    forget(g, each, actions);
    actions.push_back(AnnounceLost{each});
  }
  g.state = LoadState::cold;
  g.needed = false;
  g.recovery = {};
}

void not_needed(Generations& g) {
  g.needed = false;
  if (g.state == LoadState::waiting) g.state = LoadState::cold;
}

void needed(Generations& g, Actions& actions) {
  g.needed = true;
  switch (g.state) {
    case LoadState::cold:
    case LoadState::waiting: return load_next(g, actions);
    case LoadState::resting:
    case LoadState::loading:
    case LoadState::ceased: return;
  }
}

void cease(Generations& g, Actions& actions) {
  if (g.state == LoadState::loading) actions.push_back(Drop{g.newest});
  for (const Generation each : std::vector<Generation>(g.loaded)) forget(g, each, actions);
  g.state = LoadState::ceased;
}

void absorb(Generations& g, const GenerationsEvent& event, const GenerationsPolicy& policy, MonotonicTime now,
            Actions& actions) {
  std::visit(Match{
                 [&](Reload) { reload(g, policy, actions); },
                 [&](const Loaded& e) { on_loaded(g, e.generation, now, actions); },
                 [&](const LoadFailed& e) { on_load_failed(g, e.generation, policy, now, actions); },
                 [&](const Lost& e) { on_lost(g, e.generation, policy, now, actions); },
                 [&](const Proven& e) { on_proven(g, e.generation, actions); },
                 [&](const Rejected& e) { on_rejected(g, e.generation, actions); },
                 [&](NotNeeded) { not_needed(g); },
                 [&](DropAll) { drop_all(g, actions); },
                 [&](Needed) { needed(g, actions); },
                 [&](Cease) { cease(g, actions); },
                 [&](TimePassed) {
                   if (g.state == LoadState::waiting && now >= g.recovery.retry_at) load_next(g, actions);
                 },
             },
             event);
}
}  // namespace

Step<Generations, GenerationsAction> transition(Generations generations, const GenerationsEvent& event,
                                                const GenerationsPolicy& policy, MonotonicTime now) {
  Actions actions;
  if (generations.state != LoadState::ceased) absorb(generations, event, policy, now, actions);
  return {std::move(generations), std::move(actions)};
}

MonotonicTime next_deadline(const Generations& g, MonotonicTime) {
  return g.state == LoadState::waiting ? g.recovery.retry_at : never;
}
}  // namespace moult
