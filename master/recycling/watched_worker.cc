#include "master/recycling/watched_worker.h"

#include <algorithm>
#include <cerrno>

#include "recycler/limit.h"
#include "recycler/sampling.h"
namespace moult {
std::optional<std::uint64_t> counted_requests(const WorkerLink& link) {
  const ScoreboardMemory* board = link.scoreboard();
  return board ? std::optional(board->read(ScoreboardField::requests_finished)) : std::nullopt;
}

std::uint64_t finished_requests(const WorkerLink& link) { return counted_requests(link).value_or(0); }

WatchedWorker::WatchedWorker(Generation generation, pid_t pid, std::optional<std::uint64_t> private_bytes)
    : generation_(generation), pid_(pid) {
  open();
  if (!memory_) return;
  const auto rollup = private_bytes ? Result<WorkerMemory::Rollup>(Error{"not asked"}) : memory_->rollup();
  if (rollup) {
    rss_at_ready_bytes_ = rollup->rss_bytes;
    boot_private_bytes_ = rollup->private_bytes;
  } else if (const auto rss = memory_->rss_bytes()) {
    rss_at_ready_bytes_ = *rss;
    boot_private_bytes_ = std::min(private_bytes.value_or(*rss), *rss);  // not ours to read: nothing is shared, for us
  }
  calm_ = {rss_at_ready_bytes_, boot_private_bytes_};
}

void WatchedWorker::open() {
  auto memory = WorkerMemory::open(pid_);
  trouble_.reset();
  if (memory) memory_ = *std::move(memory);
  else if (memory.error().code != ESRCH) trouble_ = memory.error();
}

std::optional<WorkerReading> WatchedWorker::read(const WorkerLink& link, const RecyclePolicy& policy, Depth depth,
                                                 MonotonicTime now) {
  WorkerReading reading{0, finished_requests(link), 0, next_look_is_precise(record_, policy)};
  rate_ = count(rate_, reading.requests, now);
  reading.requests_per_second = rate_.per_second;
  if (!memory_) open();
  if (!memory_) return reading;
  if (reading.precise && depth == Depth::as_needed)
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

void WatchedWorker::look(const WorkerLink& link, const RecyclePolicy& policy, Depth depth, MonotonicTime now) {
  if (const auto reading = read(link, policy, depth, now)) record_ = observe(record_, *reading, policy, now);
  next_look = moult::next_look(record_, policy, now);
}

void WatchedWorker::weigh(MonotonicTime now) {
  weighed_at_ = now;
  if (!memory_) return;
  if (const auto rollup = memory_->rollup()) calm_ = *rollup;
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
