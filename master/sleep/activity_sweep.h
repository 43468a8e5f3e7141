#pragma once
// One look at the scoreboards of all workers, for the Sleeper. Made by Instance; an observer of workers, because what a
// worker saw outlives it: the visitor whom a recycled one served a moment ago keeps the app awake.
#include <functional>

#include "master/pool/worker_observer.h"
#include "master/sleep/activity.h"
namespace moult {
class ActivitySweep final : public WorkerObserver {
 public:
  struct Workers {
    std::function<const Pool&()> pool;
    std::function<WorkerLink*(WorkerId)> link;  // null: gone
  };
  explicit ActivitySweep(Workers workers) : workers_(std::move(workers)) {}

  struct Seen {
    Activity activity;                   // in flight and last_visitor_at alone
    std::uint64_t idle_connections = 0;  // of workers that hand them over: they want a place in parking
  };
  Seen look();

  void worker_gone(const Worker&, const Exit&) override;

 private:
  Workers workers_;
  MonotonicTime last_visitor_at_{};  // of those that are gone, too
};
}  // namespace moult
