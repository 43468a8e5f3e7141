#pragma once
// One worker as MemoryWatch sees it: what it weighs, how fast it serves, what the recycler has recorded of it. Owns its
// open files in /proc. Made at READY.
#include <optional>

#include "master/pool/worker_link.h"
#include "recycler/record.h"
#include "recycler/request_rate.h"
#include "recycler/worker_memory.h"
namespace moult {
class WatchedWorker {
 public:
  // A process that is dying already weighs nothing.
  WatchedWorker(Generation, pid_t);

  Generation generation() const { return generation_; }
  std::uint64_t rss_at_ready_bytes() const { return rss_at_ready_bytes_; }
  std::uint64_t boot_private_bytes() const { return boot_private_bytes_; }
  // What is its own: as smaps_rollup said in the last calm moment, and what it has grown since. smaps_rollup itself is
  // not read when memory is short: it then takes up to seconds, in which the loop stands still and the app as well.
  std::uint64_t private_bytes() const;
  void begin(const WorkerRecord& record) { record_ = record; }

  // One look. Nothing changes when it is dead: its end is told elsewhere.
  void look(const WorkerLink&, const RecyclePolicy&, MonotonicTime now);
  const WorkerRecord& record() const { return record_; }
  void ask_to_go() { record_.operator_request = true; }

  // Once, at the first look after it has settled: what it weighs now.
  std::optional<WorkerMemory::Rollup> take_settled(MonotonicTime now);

  MonotonicTime next_look{};

 private:
  std::optional<WorkerReading> read(const WorkerLink&, const RecyclePolicy&, MonotonicTime now);

  Generation generation_;
  std::optional<WorkerMemory> memory_;
  std::uint64_t rss_at_ready_bytes_ = 0, boot_private_bytes_ = 0;
  WorkerMemory::Rollup calm_{};  // the last one that was read
  WorkerRecord record_;
  RequestRate rate_;
  bool has_settled_ = false;
};

std::uint64_t finished_requests(const WorkerLink&);  // of visitors; zero without a scoreboard
}  // namespace moult
