#pragma once
// Counts a C++ worker's requests into its scoreboard. Owned by ForkedWorker. Times are CLOCK_MONOTONIC nanoseconds,
// handed in.
#include <cstddef>
#include <cstdint>
#include <map>

#include "worker/moult_worker.h"
#include "worker/scoreboard_memory.h"
namespace moult {
class RequestCounter {
 public:
  explicit RequestCounter(ScoreboardMemory& scoreboard) : scoreboard_(scoreboard) {}

  // A health check (Caller::ignored) is counted when it is finished, so that it is never in flight; what is the
  // sidecar's is not counted.
  WorkerContext::Request started(WorkerContext::Caller, std::uint64_t now_ns);
  void is_long(WorkerContext::Request);
  void finished(WorkerContext::Request, int http_status, std::uint64_t now_ns);  // unknown or finished: no effect

 private:
  struct InFlight {
    WorkerContext::Caller caller;
    std::uint64_t began_ns;
  };
  using Requests = std::map<WorkerContext::Request, InFlight>;  // ids rise, so the first is the oldest
  void add_one(ScoreboardField);
  void show_oldest();

  ScoreboardMemory& scoreboard_;
  WorkerContext::Request last_ = 0;
  Requests plain_;
  Requests exempt_;  // long ones, scheduled calls, which have a timeout of their own, and health checks
};
}  // namespace moult
