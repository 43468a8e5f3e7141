#include "master/sleep/activity_sweep.h"

#include <algorithm>
namespace moult {
namespace {
WorkerActivity activity_of(const ScoreboardMemory& board) {
  return read_activity([&](ScoreboardField field) { return board.read(field); });
}
}  // namespace

ActivitySweep::Seen ActivitySweep::look() {
  Seen seen;
  for (const Worker& worker : workers_.pool().workers) {
    const WorkerLink* link = workers_.link(worker.id);
    if (!link || !link->scoreboard()) continue;
    const WorkerActivity one = activity_of(*link->scoreboard());
    add(seen.activity, one);
    if (link->adopts()) seen.idle_connections += idle_connections(one);
  }
  last_visitor_at_ = std::max(last_visitor_at_, seen.activity.last_visitor_at);
  seen.activity.last_visitor_at = last_visitor_at_;
  return seen;
}

void ActivitySweep::worker_gone(const Worker& worker, const Exit&) {
  const WorkerLink* link = workers_.link(worker.id);
  if (!link || !link->scoreboard()) return;
  last_visitor_at_ = std::max(last_visitor_at_, activity_of(*link->scoreboard()).last_visitor_at);
}
}  // namespace moult
