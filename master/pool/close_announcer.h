#pragma once
// When a stop is asked for, the workers are told that each of their answers ends its connection: so clients leave by
// themselves, before their connections are closed. Also those that retire, for what they have in flight: whom they give
// up could live on in the last worker only, and not for long. Made by Instance, on the loop's thread; whoever begins to
// serve during the stop is told as well, and each of them once.
#include <functional>
#include <set>
#include <utility>

#include "master/pool/pool_parts.h"
#include "master/pool/worker_observer.h"
namespace moult {
class CloseAnnouncer final : public WorkerObserver {
 public:
  using Links = std::function<WorkerLink*(WorkerId)>;  // null: gone
  explicit CloseAnnouncer(Links links) : links_(std::move(links)) {}

  void pool_settled(const Pool& pool) override {
    if (!announces_close(pool)) return;
    for (const Worker& worker : pool.workers) {
      const bool answers = worker.state == WorkerState::serving || worker.state == WorkerState::retiring;
      WorkerLink* link = answers ? links_(worker.id) : nullptr;
      if (link && told_.insert(worker.id).second) link->announce_close();
    }
  }

 private:
  Links links_;
  std::set<WorkerId> told_;  // of one stop: nothing follows it
};
}  // namespace moult
