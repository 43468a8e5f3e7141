#include "master/recycling/watched_worker.h"

#include "recycler/limit.h"
#include "recycler/sampling.h"
namespace moult {
std::uint64_t finished_requests(const WorkerLink& link) {
  const ScoreboardMemory* board = link.scoreboard();
  return board ? board->read(ScoreboardField::requests_finished) : 0;
}

WatchedWorker::WatchedWorker(Generation generation, pid_t pid) : generation_(generation) {
  auto memory = WorkerMemory::open(pid);
  if (!memory) return;
  memory_ = *std::move(memory);
  if (const auto rollup = memory_->rollup()) {
    rss_at_ready_bytes_ = rollup->rss_bytes;
    boot_private_bytes_ = rollup->private_bytes;
  } else if (const auto rss = memory_->rss_bytes()) {
    rss_at_ready_bytes_ = boot_private_bytes_ = *rss;  // smaps_rollup is not ours to read: nothing is shared, for us
  }
  calm_ = {rss_at_ready_bytes_, boot_private_bytes_};
}

std::optional<WorkerReading> WatchedWorker::read(const WorkerLink& link, const RecyclePolicy& policy,
                                                 MonotonicTime now) {
  WorkerReading reading{0, finished_requests(link), 0, next_look_is_precise(record_, policy)};
  rate_ = count(rate_, reading.requests, now);
  reading.requests_per_second = rate_.per_second;
  if (!memory_) return reading;
  if (reading.precise)
    if (const auto rollup = memory_->rollup()) {
      calm_ = *rollup;
      reading.rss_bytes = rollup->rss_bytes;
      return reading;
    }
  const auto rss = memory_->rss_bytes();
  if (!rss) return std::nullopt;
  reading.rss_bytes = *rss;
  return reading;
}

void WatchedWorker::look(const WorkerLink& link, const RecyclePolicy& policy, MonotonicTime now) {
  if (const auto reading = read(link, policy, now)) record_ = observe(record_, *reading, policy, now);
  next_look = moult::next_look(record_, policy, now);
}

std::optional<WorkerMemory::Rollup> WatchedWorker::take_settled(MonotonicTime now) {
  if (has_settled_ || !memory_ || !has_settled(record_.requests, now - record_.ready_at)) return std::nullopt;
  has_settled_ = true;
  if (const auto rollup = memory_->rollup()) calm_ = *rollup;
  return WorkerMemory::Rollup{record_.rss_bytes, private_bytes()};
}

std::uint64_t WatchedWorker::private_bytes() const {
  const std::uint64_t grown = record_.rss_bytes > calm_.rss_bytes ? record_.rss_bytes - calm_.rss_bytes : 0;
  return calm_.private_bytes + grown;
}
}  // namespace moult
