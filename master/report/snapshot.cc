#include "master/report/snapshot.h"

#include <utility>
namespace moult {
void SnapshotBoard::hang_up(std::shared_ptr<const Snapshot> snapshot, MonotonicTime now) {
  {
    const std::lock_guard lock(mutex_);
    latest_.swap(snapshot);
  }  // the old one, if nobody else looks at it, is freed outside the lock
  newer_.notify_all();
  loop_turned_at_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
}

std::shared_ptr<const Snapshot> SnapshotBoard::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

std::shared_ptr<const Snapshot> SnapshotBoard::wait_for_newer(const std::shared_ptr<const Snapshot>& seen,
                                                              MonotonicTime until,
                                                              const std::atomic<bool>& ended) const {
  std::unique_lock lock(mutex_);
  newer_.wait_until(lock, until, [&] { return latest_ != seen || ended; });
  return latest_;
}

void SnapshotBoard::wake() const {
  const std::lock_guard lock(mutex_);  // nobody is between his look at `ended` and his sleep
  newer_.notify_all();
}

MonotonicTime SnapshotBoard::loop_turned_at() const {
  return MonotonicTime(Duration(loop_turned_at_.load(std::memory_order_relaxed)));
}

SnapshotPublisher::SnapshotPublisher(uv_loop_t* loop, std::shared_ptr<SnapshotBoard> board,
                                     std::function<Snapshot()> take)
    : board_(std::move(board)), take_(std::move(take)), timer_(make_timer(loop, this)) {
  uv_unref(reinterpret_cast<uv_handle_t*>(timer_.get()));  // a picture alone keeps no loop alive
  changed();
}

void SnapshotPublisher::changed() {
  if (change_pending_) return;
  change_pending_ = true;
  arm(change_settles);
}

void SnapshotPublisher::arm(Duration after) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(after).count();
  uv_timer_start(
      timer_.get(), [](uv_timer_t* timer) { static_cast<SnapshotPublisher*>(timer->data)->publish(); },
      static_cast<std::uint64_t>(ms), 0);
}

void SnapshotPublisher::publish() {
  change_pending_ = false;
  board_->hang_up(std::make_shared<const Snapshot>(take_()), std::chrono::steady_clock::now());
  arm(snapshot_every);
}
}  // namespace moult
