#include "master/report/instance_state.h"

#include <algorithm>
namespace moult {
namespace {
bool serves(const WorkerDescription& worker) { return worker.state == WorkerState::serving; }

InstanceState awake_state(const SupervisorDescription& d) {
  if (!d.proven) return InstanceState::booting;
  const bool old_code_serves =
      std::ranges::any_of(d.workers, [&](const auto& each) { return serves(each) && each.generation < d.proven; });
  return d.loads || d.candidate != d.proven || old_code_serves ? InstanceState::reloading : InstanceState::serving;
}
}  // namespace

InstanceState instance_state(const SupervisorDescription& d, const IdleDescription* idle) {
  const bool wakes = idle && idle->state == IdleState::waking && serving_workers(d) == 0;
  switch (d.mode) {
    case Mode::serve: return wakes ? InstanceState::waking : awake_state(d);
    case Mode::sleep: return InstanceState::asleep;
    case Mode::delay:
    case Mode::draining:
    case Mode::last:
    case Mode::quick:
    case Mode::finished: break;
  }
  return InstanceState::stopping;
}

std::string_view name(InstanceState state) {
  switch (state) {
    case InstanceState::booting: return "booting";
    case InstanceState::serving: return "serving";
    case InstanceState::reloading: return "reloading";
    case InstanceState::stopping: return "stopping";
    case InstanceState::waking: return "waking";
    case InstanceState::asleep: break;
  }
  return "asleep";
}

unsigned serving_workers(const SupervisorDescription& d) {
  return static_cast<unsigned>(std::ranges::count_if(d.workers, serves));
}
}  // namespace moult
