#pragma once
// When the app's own schedule next needs it awake: NEXT_DUE of its workers, said when they retire. The last word of
// each counts and is told when it is gone; the idle core takes the earliest of those that ended in one sleep, and
// passes over the others. Never asked by the guard: while the app is awake it is stale. Made by InstanceSleep, an
// observer of workers.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "master/pool/worker_observer.h"
namespace moult {
// How far from now a due time may be. The past: an app may be a little late, but who says an hour has a clock or a unit
// of its own. The future: more than any schedule, and less than milliseconds taken for seconds.
inline constexpr Duration longest_past_due = std::chrono::minutes(1);
inline constexpr Duration longest_future_due = std::chrono::hours(24 * 366 * 10);

// Unix time in whole seconds. The error says what is wrong with the text.
Result<WallTime> parse_next_due(std::string_view text, WallTime now);

class AppDueTimes final : public WorkerObserver {
 public:
  struct Parts {
    std::function<WallTime()> now;
    std::function<void(WallTime)> due;                     // a worker that is gone had said so
    std::function<void(const std::string& warning)> warn;  // of each worker once
  };
  explicit AppDueTimes(Parts parts) : parts_(std::move(parts)) {}

  void worker_next_due(const Worker&, pid_t, const std::string&) override;
  void worker_gone(const Worker&, const Exit&) override;
  void boot_failed(const Worker& worker, const Exit&) override { said_.erase(worker.id); }
  void boot_abandoned(const Worker& worker, const Exit&) override { said_.erase(worker.id); }

 private:
  struct Said {
    std::optional<WallTime> due;
    bool warned = false;
  };
  Parts parts_;
  std::map<WorkerId, Said> said_;  // of workers that live
};
}  // namespace moult
