#include "master/pool/worker_state.h"
#include <algorithm>
namespace moult {
namespace {
using WorkerStep = Step<Worker, WorkerAction>;
WorkerStep stay(Worker w) { return {std::move(w), {}}; }
WorkerStep enter(Worker w, WorkerState state, MonotonicTime deadline, MonotonicTime now) {
  w.state = state;
  w.since = now;
  w.deadline = deadline;
  return stay(std::move(w));
}
WorkerStep signalled(Worker w, WorkerState state, Signal signal, MonotonicTime deadline, MonotonicTime now) {
  const WorkerId id = w.id;
  WorkerStep step = enter(std::move(w), state, deadline, now);
  step.actions.push_back(SendSignal{id, signal});
  return step;
}
WorkerStep terminate(Worker w, const WorkerTimeouts& t, MonotonicTime now) {
  return signalled(std::move(w), WorkerState::terminating, Signal::terminate, now + t.kill_after, now);
}
WorkerStep assign(Worker w, unsigned slot, const WorkerTimeouts& t, MonotonicTime now) {
  w.slot = slot;
  const WorkerId id = w.id;
  WorkerStep step = enter(std::move(w), WorkerState::booting, now + t.boot, now);
  step.actions.push_back(Go{id, slot});
  return step;
}
WorkerStep retire(Worker w, MonotonicTime by, const WorkerTimeouts& t, MonotonicTime now) {
  const WorkerId id = w.id;
  const MonotonicTime deadline = std::min(by, now + t.graceful);
  WorkerStep step = enter(std::move(w), WorkerState::retiring, deadline, now);
  step.actions.push_back(SendRetire{id, deadline});
  return step;
}
// To a server SIGINT is: do not wait for requests in flight. To any other program it is the end as well.
WorkerStep interrupt(Worker w, const WorkerTimeouts& t, MonotonicTime now) {
  return signalled(std::move(w), WorkerState::terminating, Signal::interrupt, now + t.kill_after, now);
}
WorkerStep quit(Worker w, const WorkerTimeouts& t, MonotonicTime now) {
  switch (w.state) {
    case WorkerState::booting:
    case WorkerState::spare:
    case WorkerState::serving:
    case WorkerState::retiring: return interrupt(std::move(w), t, now);
    case WorkerState::terminating:
    case WorkerState::aborting:
    case WorkerState::killed: break;
  }
  return stay(std::move(w));
}
WorkerStep deadline_reached(Worker w, const WorkerTimeouts& t, MonotonicTime now) {
  switch (w.state) {
    case WorkerState::booting:
    case WorkerState::retiring: return terminate(std::move(w), t, now);
    case WorkerState::terminating:
    case WorkerState::aborting: return signalled(std::move(w), WorkerState::killed, Signal::kill, never, now);
    case WorkerState::spare:
    case WorkerState::serving:
    case WorkerState::killed: break;
  }
  return stay(std::move(w));
}
}  // namespace
Worker boot(WorkerId id, std::optional<unsigned> slot, Generation g, const WorkerTimeouts& t, MonotonicTime now) {
  return {id, slot, g, WorkerState::booting, now, now + t.boot, Keep{}};
}
Step<Worker, WorkerAction> transition(Worker w, const WorkerEvent& event, const WorkerTimeouts& t, MonotonicTime now) {
  const bool booting = w.state == WorkerState::booting, serving = w.state == WorkerState::serving,
             spare = w.state == WorkerState::spare;
  return std::visit(
      Match{
          [&](Ready) {
            return booting && w.slot ? enter(std::move(w), WorkerState::serving, never, now) : stay(std::move(w));
          },
          [&](Park) {
            return booting && !w.slot ? enter(std::move(w), WorkerState::spare, never, now) : stay(std::move(w));
          },
          [&](const Assign& e) { return spare ? assign(std::move(w), e.slot, t, now) : stay(std::move(w)); },
          [&](const Retire& e) { return serving ? retire(std::move(w), e.by, t, now) : stay(std::move(w)); },
          [&](Abandon) { return booting || spare ? terminate(std::move(w), t, now) : stay(std::move(w)); },
          [&](Quit) { return quit(std::move(w), t, now); },
          [&](Hang) {
            return serving ? signalled(std::move(w), WorkerState::aborting, Signal::abort, now + t.kill_after, now)
                           : stay(std::move(w));
          },
          [&](TimePassed) { return now >= w.deadline ? deadline_reached(std::move(w), t, now) : stay(std::move(w)); },
      },
      event);
}
}  // namespace moult
