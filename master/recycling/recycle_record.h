#pragma once
// One recycle from its decision to the end of the process, and those who want to know: events, metrics, log.
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/log_level.h"
#include "master/pool/pool.h"
#include "master/recycling/hold_log.h"
#include "recycler/lifetimes.h"
namespace moult {
enum class DrainOutcome {
  clean,     // it ended by itself, in time
  deadline,  // --graceful-timeout was over: it cut what was in flight itself, or on SIGTERM
  killed,    // that did not help either, or somebody else killed it
};
const char* name(DrainOutcome);

struct WorkerName {
  std::optional<unsigned> slot;
  pid_t pid;
  Generation generation;
};
struct RecycleRecord {
  WorkerName worker;
  Recycle why;  // as it began; where it became more urgent before RETIRE, as it was then
  Granted gate{};
  Order order{};
  std::optional<Duration> gap;  // since the beginning of this instance's last one
  std::vector<HeldFor> holds;   // before it
  // at RETIRE
  Duration over_limit{}, over_hard{}, lifetime{};
  std::uint64_t freed_bytes = 0;  // what was its own then, and its exit gave back
  // at its end
  std::uint64_t requests = 0;
  std::uint64_t handed_over = 0;  // of its idle connections
  DrainOutcome drain{};
  Duration drained_for{};
};

class RecycleObserver {
 public:
  virtual ~RecycleObserver() = default;
  virtual void recycle_begun(const WorkerName&, const Recycle&, const Granted&) {}
  virtual void recycled(const RecycleRecord&) {}
  virtual void hold_started(const WorkerName&, const HeldBack&, const Evidence&) {}
  virtual void hold_ended(const WorkerName&, const HeldFor&) {}
  virtual void alarm_changed(AlarmChange, const LifetimeFigures&) {}
  virtual void pressure_futile(Duration /*for_how_long*/) {}
  // For the log: limits that follow from what a worker weighs, what cannot be read.
  virtual void recycling_note(LogLevel, const std::string& /*line*/) {}
};
}  // namespace moult
