#pragma once
// Those who want to know what becomes of workers: event log, metrics, linger, memory watch. Called by the Supervisor,
// in the order they were registered, from inside the pool's step: what they post is taken after it. A worker that
// failed to boot or is gone is still in the pool then, and its link still there, for the last look.
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "master/pool/pool.h"
#include "master/pool/worker_link.h"
namespace moult {
class WorkerObserver {
 public:
  virtual ~WorkerObserver() = default;
  virtual void worker_parked(const Worker&, pid_t) {}  // a spare has started, and waits
  virtual void worker_serving(const Worker&, pid_t) {}
  virtual void worker_retiring(const Worker&, pid_t) {}
  virtual void boot_failed(const Worker&, const Exit&) {}     // gone before READY
  virtual void boot_abandoned(const Worker&, const Exit&) {}  // gone before READY, because nobody wanted it any more
  virtual void worker_gone(const Worker&, const Exit&) {}     // gone after READY, or a spare
  virtual void worker_hung(const Worker&, pid_t, const std::string& /*why*/) {}
  virtual void worker_next_due(const Worker&, pid_t, const std::string& /*NEXT_DUE, as it said it*/) {}
  virtual void worker_refused(const Worker&, pid_t, const std::string& /*what*/) {}  // it broke the contract
  // Its replacement begins now, because the recycler said so; the cooldown counts from here.
  virtual void recycle_begun(const Worker&, pid_t, const BeginRecycle&, const Granted&) {}
  virtual void pool_settled(const Pool&) {}  // after each of its steps, and when a worker said STOPPING
  virtual void load_started(Generation) {}
  virtual void generation_proven(Generation) {}
  virtual void reloaded_asleep(Generation) {}  // a reload has ended: it is loaded, and nobody serves it before the wake
  virtual void generation_rejected(Generation, const std::string& /*cause*/) {}  // did not load, or could not boot
  virtual void fork_server_gone(Generation, const Exit&) {}
  virtual void stop_finished(int /*exit_code*/) {}
};
}  // namespace moult
