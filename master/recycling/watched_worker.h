#pragma once
// One worker as MemoryWatch sees it: what it weighs, how fast it serves, what the recycler has recorded of it. Owns its
// open files in /proc. Made at READY.
#include <optional>

#include "master/pool/worker_link.h"
#include "recycler/record.h"
#include "recycler/request_rate.h"
#include "recycler/victim.h"
#include "recycler/worker_memory.h"
namespace moult {
class WatchedWorker {
 public:
  // A process that is dying already weighs nothing.
  WatchedWorker(Generation, pid_t);

  Generation generation() const { return generation_; }
  std::uint64_t rss_at_ready_bytes() const { return rss_at_ready_bytes_; }
  std::uint64_t boot_private_bytes() const { return boot_private_bytes_; }
  void begin(const WorkerRecord& record) { record_ = record; }

  // One look. Nothing changes when it is dead: its end is told elsewhere.
  void look(const WorkerLink&, const RecyclePolicy&, MonotonicTime now);
  const WorkerRecord& record() const { return record_; }
  void ask_to_go() { record_.operator_request = true; }

  // The first look after it has settled, once: what it weighs now.
  std::optional<std::uint64_t> take_settled_rss(MonotonicTime now);
  // What is its own now, from smaps_rollup; none: it is dying.
  std::optional<Footprint> footprint() const;
  // Guessed from its growth, without a look at smaps_rollup.
  std::uint64_t private_bytes_estimate() const;

  MonotonicTime next_look{};

 private:
  std::optional<WorkerReading> read(const WorkerLink&, const RecyclePolicy&, MonotonicTime now);

  Generation generation_;
  std::optional<WorkerMemory> memory_;
  std::uint64_t rss_at_ready_bytes_ = 0, boot_private_bytes_ = 0;
  WorkerRecord record_;
  RequestRate rate_;
  bool has_settled_ = false;
};

std::uint64_t finished_requests(const WorkerLink&);  // of visitors; zero without a scoreboard
}  // namespace moult
