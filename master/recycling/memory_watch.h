#pragma once
// The recycler on the loop: looks at each worker when it is due, lets decide() judge, and tells the supervisor. Made by
// Instance; an observer of workers, asked when one is ready (admission), when somebody wants one replaced (`moult
// recycle`) and for the status. Decides nothing: which worker must go is recycler/, whether it may is the gate, when it
// does is pool/.
//
// One timer for all: workers that are due within a quarter of --sample-near are looked at together.
#include <uv.h>

#include <map>
#include <vector>

#include "master/pool/supervisor.h"
#include "master/recycling/limits.h"
#include "master/recycling/pressure_watch.h"
#include "master/recycling/recycles.h"
#include "master/recycling/watched_worker.h"
namespace moult {
enum class Replace { by_headroom, successor_first, in_place };  // --replace

struct MemoryWatchOptions {
  RecyclePolicy policy;  // min_headroom_bytes is filled from the one below; of its limit the jitter alone is read
  LimitSettings limits;
  MinHeadroom min_headroom;
  Replace replace = Replace::by_headroom;
  bool drops_old_code_first = false;  // --reload-low-memory
  std::uint64_t random_seed = 0;
};

struct WorkerMemoryDescription {
  std::uint64_t rss_bytes, boot_rss_bytes, limit_bytes, hard_limit_bytes;  // no_limit: none
  std::optional<HeldBack> hold;
};
struct RecyclingDescription {
  std::map<WorkerId, WorkerMemoryDescription> workers;
  std::uint64_t base_bytes, headroom_bytes, min_headroom_bytes;  // no_limit: not known
  std::optional<Duration> since_last_recycle;
  LifetimeFigures lifetimes;
  bool alarm;
  Duration over_hard;  // of all workers so far, those that are gone too: how long they were over their hard limits
  std::uint64_t times_short;  // that the headroom fell below its minimum
};

class MemoryWatch : public WorkerObserver {
 public:
  // The supervisor and the observers outlive it.
  MemoryWatch(uv_loop_t*, const MemoryWatchOptions&, Supervisor&, std::vector<RecycleObserver*>);
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  // `moult recycle`: the worker of this slot, or all that serve now. How many were asked to go.
  Result<unsigned> ask_to_go(std::optional<unsigned> slot);
  // Whether a second fork server would fit beside the one that serves.
  Result<void> room_for_a_reload() const;
  RecyclingDescription describe() const;

  void recycle_begun(const Worker&, pid_t, const BeginRecycle&, const Granted&) override;
  void worker_retiring(const Worker&, pid_t) override;
  void worker_refused(const Worker&, pid_t, const std::string& what) override;
  void boot_failed(const Worker& worker, const Exit&) override { forget(worker.id); }
  void boot_abandoned(const Worker& worker, const Exit&) override { forget(worker.id); }
  void worker_gone(const Worker&, const Exit&) override;
  void worker_parked(const Worker&, pid_t) override;
  void generation_proven(Generation) override;
  void pool_settled(const Pool&) override;

 private:
  Result<void> admit(const Worker&, pid_t, Supervisor::Trial);
  void look();
  Decision judge(const Worker&, WatchedWorker&, const InstanceReading&, MonotonicTime now);
  bool memory_is_short() const;
  void weigh_anew(MonotonicTime now);
  std::optional<std::uint64_t> known_private_bytes(const Worker&) const;
  void forget(WorkerId);
  void judge_all_soon();
  void tell_headroom();
  void arm();
  InstanceReading read_instance(MonotonicTime now);
  void settle(WatchedWorker&, MonotonicTime now);
  void judge_pressure_anew();
  std::uint64_t being_freed_bytes() const;
  std::vector<Footprint> footprints() const;
  std::uint64_t successor_bytes(const WatchedWorker&) const;
  std::uint64_t own_bytes() const;
  std::uint64_t fork_server_rss_bytes() const;
  Recycles::LastLook last_look(WorkerId) const;
  Surroundings surroundings() const;
  MonotonicTime now() const { return monotonic_now(loop_); }
  template <class Say>
  void tell(Say say) {
    for (RecycleObserver* each : observers_) say(*each);
  }

  uv_loop_t* loop_;
  const MemoryWatchOptions options_;
  Supervisor& supervisor_;
  std::vector<RecycleObserver*> observers_;
  Random random_;
  Limits limits_;
  PressureWatch pressure_;
  Recycles recycles_;
  HoldLog holds_;
  std::map<WorkerId, WatchedWorker> watched_;
  std::map<WorkerId, std::uint64_t> private_bytes_of_spares_;  // when they had started
  Duration over_hard_of_the_gone_{};
  bool memory_came_free_ = false;  // somebody is gone: judge pressure anew, once the pool knows it
  std::map<Generation, std::uint64_t> settled_private_bytes_;  // the least that a settled worker held of its own
  UvHandle<uv_timer_t> timer_;
};
}  // namespace moult
