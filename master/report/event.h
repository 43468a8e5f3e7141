#pragma once
// What happened, for machines: one struct an event, and the one JSON line that is made of it (DESIGN §11, Events).
// Pure. Every line has "event", "at" (RFC 3339, ms) and "instance"; those about a worker also "slot" (null: a spare),
// "pid" (null: there never was a process) and "generation". Sizes are bytes, times seconds. Readers accept more keys.
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/clock.h"
#include "base/ids.h"
#include "master/connections/delivery_observer.h"
#include "master/pool/exit.h"
#include "master/pool/worker_state.h"
#include "master/recycling/recycle_record.h"
#include "master/sleep/ended_call.h"
#include "master/sleep/sleep_observer.h"
namespace moult {
struct MasterStarted {
  std::string version;
  pid_t pid;
};
struct MasterStopped {
  int exit_status;
  double uptime_seconds;
};
struct WorkerSubject {
  std::optional<unsigned> slot;
  pid_t pid;  // zero: never started
  Generation generation;
};
struct WorkerReadyEvent {
  WorkerSubject worker;
};
struct WorkerExited {  // after READY
  WorkerSubject worker;
  WorkerState state;  // in which it was: `serving` is a crash, `retiring` is as asked
  Exit exit;
  std::optional<bool> oom_killed;        // none: cannot be known here
  std::optional<double> uptime_seconds;  // since READY; none: a spare that never served
};
struct BootFailed {  // before READY
  WorkerSubject worker;
  Exit exit;
  std::optional<bool> oom_killed;
  std::uint64_t same_cause;  // how often this very cause was seen before, in a row; then `cause` is left out
};
struct ForkServerGone {
  Generation generation;
  Exit exit;
};
struct ReloadStarted {
  Generation generation;
};
struct ReloadFinished {
  Generation generation;
  std::string outcome;  // reload_progress.h
  std::string error;    // empty: none
};
struct WorkerRecycled {
  RecycleRecord recycle;
  bool own_fleet = true;  // else this instance does not know when the fleet's last one was
};
struct HoldStarted {
  WorkerName worker;
  HoldReason why;
  std::optional<WallTime> until;  // none: with the turn that is in hand
  Evidence evidence;
};
struct HoldEnded {
  WorkerName worker;
  HeldFor held;
};
struct GateUngated {
  WorkerName worker;
  Recycle why;
};
struct AlarmFiring {
  LifetimeFigures lifetimes;
};
struct AlarmCleared {
  LifetimeFigures lifetimes;
};
struct PressureFutile {
  double for_seconds;
};
struct ScheduledCallEvent {
  EndedCall call;
};
struct EventsDropped {
  std::uint64_t count;
};  // by the event log itself: it was full or not read
using Event = std::variant<MasterStarted, MasterStopped, WorkerReadyEvent, WorkerExited, BootFailed, ForkServerGone,
                           ReloadStarted, ReloadFinished, WorkerRecycled, HoldStarted, HoldEnded, GateUngated,
                           AlarmFiring, AlarmCleared, PressureFutile, ScheduledCallEvent, LingersAborted, FailedClosed,
                           FellAsleep, WokeUp, FailedWake, FailedStop, EventsDropped>;

// Who takes events: the file, or what is more than a file. On the loop's thread.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void write(const Event&, WallTime at) = 0;
};

// With its newline.
std::string event_line(const Event&, const std::string& instance, WallTime at);

// "booting", "serving", ...: the names of DESIGN §11, in events and in the status.
std::string state_name(WorkerState);
}  // namespace moult
