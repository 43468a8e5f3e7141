#pragma once
// What the loop shows to admin threads: an immutable picture of the instance, and a sign that the loop turns.
//
// SnapshotBoard is shared by both sides. SnapshotPublisher lives on the loop's thread, only when there is an admin
// server: every second, and within change_settles of any change, it takes a picture and hangs it up. So a picture is at
// most a second old while the loop turns. The heartbeat is written with each picture, and nowhere else.
#include <uv.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/uv_handle.h"
#include "lease/gate_description.h"
#include "master/connections/connection_keeper.h"
#include "master/connections/delivery.h"
#include "master/pool/supervisor.h"
#include "master/pool/worker_observer.h"
#include "master/recycling/memory_watch.h"
#include "master/report/metric_families.h"
#include "master/report/recent_recycles.h"
#include "master/sleep/ended_call.h"
#include "master/sleep/sleep_observer.h"
namespace moult {
inline constexpr Duration snapshot_every = std::chrono::seconds(1);
// Changes that come together make one picture; 300 workers that start at once are not described 300 times.
inline constexpr Duration change_settles = std::chrono::milliseconds(5);

struct StatusFacts {  // what the pool does not know
  std::string version;
  std::string name;    // of the instance, -n
  std::string server;  // "uvicorn 0.17.6", as the fork server said; empty: unknown
  pid_t pid;           // the master's
  Duration uptime;     // its
  std::uint64_t log_lines_dropped = 0, events_dropped = 0;
  MonotonicTime now = {};  // of the description: what ends later is told as the time that is left
};

// What an instance does not have (no gate kind, parking for nobody, no patience, nothing scheduled, no idle) is not
// told.
struct Snapshot {
  SupervisorDescription pool;
  StatusFacts facts;
  RecyclingDescription recycling = {};
  GateDescription gate = {};
  ParkingDescription parking = {};
  DeliveryDescription delivery = {};
  ScheduleDescription schedule = {};
  std::optional<IdleDescription> idle = {};
  std::shared_ptr<const RecentRecycles> recent = {};  // null: none yet
  MetricFamilies metrics = {};
};

class SnapshotBoard {
 public:
  void hang_up(std::shared_ptr<const Snapshot>, MonotonicTime now);  // the loop's thread
  std::shared_ptr<const Snapshot> latest() const;                    // any thread; null: none yet
  MonotonicTime loop_turned_at() const;                              // any thread; the epoch: never yet

  // Any thread but the loop's: returns when there is another than `seen`, at `until`, or soon after `ended` is true
  // and wake() was called. What is there then.
  std::shared_ptr<const Snapshot> wait_for_newer(const std::shared_ptr<const Snapshot>& seen, MonotonicTime until,
                                                 const std::atomic<bool>& ended) const;
  void wake() const;

 private:
  mutable std::mutex mutex_;  // held for the copy of one pointer
  mutable std::condition_variable newer_;
  std::shared_ptr<const Snapshot> latest_;
  std::atomic<Duration::rep> loop_turned_at_{0};
};

class SnapshotPublisher : public WorkerObserver {
 public:
  // `take` is called from a timer, never from inside an observer's call: then the pool is between two steps.
  SnapshotPublisher(uv_loop_t*, std::shared_ptr<SnapshotBoard>, std::function<Snapshot()> take);

  // Something that no observer hears has changed: a stop has begun, the wanted number is another.
  void changed();

  void worker_serving(const Worker&, pid_t) override { changed(); }
  void worker_retiring(const Worker&, pid_t) override { changed(); }
  void boot_failed(const Worker&, const Exit&) override { changed(); }
  void boot_abandoned(const Worker&, const Exit&) override { changed(); }
  void worker_gone(const Worker&, const Exit&) override { changed(); }
  void worker_hung(const Worker&, pid_t, const std::string&) override { changed(); }
  void load_started(Generation) override { changed(); }
  void generation_proven(Generation) override { changed(); }
  void generation_rejected(Generation, const std::string&) override { changed(); }
  void fork_server_gone(Generation, const Exit&) override { changed(); }

 private:
  void publish();
  void arm(Duration after);
  std::shared_ptr<SnapshotBoard> board_;
  std::function<Snapshot()> take_;
  bool change_pending_ = false;
  UvHandle<uv_timer_t> timer_;
};
}  // namespace moult
