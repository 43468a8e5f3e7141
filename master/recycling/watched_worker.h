#pragma once
// One worker as MemoryWatch sees it: what it weighs, how fast it serves, what the recycler has recorded of it. Owns its
// open files in /proc. Made at READY.
#include <optional>

#include "master/pool/worker_link.h"
#include "recycler/record.h"
#include "recycler/request_rate.h"
#include "recycler/worker_memory.h"
namespace moult {
enum class Depth { as_needed, shallow };  // shallow: never smaps_rollup

class WatchedWorker {
 public:
  // A process that is dying already weighs nothing. `private_bytes`: when smaps_rollup is not to be read (memory is
  // short, or somebody waits for a spare), what is taken to be its own.
  WatchedWorker(Generation, pid_t, std::optional<std::uint64_t> private_bytes);

  Generation generation() const { return generation_; }
  // Why it cannot be weighed, if it lives: it is tried again at each look.
  const std::optional<Error>& trouble() const { return trouble_; }
  std::uint64_t rss_at_ready_bytes() const { return rss_at_ready_bytes_; }
  std::uint64_t boot_private_bytes() const { return boot_private_bytes_; }
  // What is its own: as smaps_rollup said last, and what it has grown since. Shared pages that it copies meanwhile do
  // not show in what it grows: so it is weighed anew before that matters.
  std::uint64_t private_bytes() const;
  // Reads smaps_rollup: milliseconds for a large process.
  void weigh(MonotonicTime now);
  MonotonicTime weighed_at() const { return weighed_at_; }
  void begin(const WorkerRecord& record) { record_ = record; }

  // One look. Nothing changes when it is dead: its end is told elsewhere.
  void look(const WorkerLink&, const RecyclePolicy&, Depth, MonotonicTime now);
  const WorkerRecord& record() const { return record_; }
  void ask_to_go() { record_.operator_request = true; }

  // Once, at the first look after it has settled: what it weighs now.
  std::optional<WorkerMemory::Rollup> take_settled(MonotonicTime now);

  MonotonicTime next_look{};

 private:
  std::optional<WorkerReading> read(const WorkerLink&, const RecyclePolicy&, Depth, MonotonicTime now);

  void open();

  Generation generation_;
  pid_t pid_;
  std::optional<WorkerMemory> memory_;
  std::optional<Error> trouble_;
  std::uint64_t rss_at_ready_bytes_ = 0, boot_private_bytes_ = 0;
  WorkerMemory::Rollup calm_{};  // the last one that was read
  MonotonicTime weighed_at_{};
  WorkerRecord record_;
  RequestRate rate_;
  bool has_settled_ = false;
};

// Of visitors, that were finished. None: it has no scoreboard.
std::optional<std::uint64_t> counted_requests(const WorkerLink&);
std::uint64_t finished_requests(const WorkerLink&);  // likewise; then zero
}  // namespace moult
