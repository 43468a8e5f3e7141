#pragma once
// What became of a sleep or a wake, for those who tell it: log, events, metrics. Called by the Sleeper, on the loop's
// thread; an observer posts nothing from inside.
#include <string>

#include "master/sleep/idle.h"
namespace moult {
struct FellAsleep {
  SleepReason why;
  Duration took{};       // from the decision until the last worker was gone and everything delivered
  Duration awake_for{};  // since the last wake, or the start
};
struct WokeUp {
  Waker caller;
  Duration latency{};  // from the first caller until the first worker serves
  Duration asleep_for{};
};
struct FailedWake {
  Waker caller;
  Duration after{};
  Duration retry_in{};  // until then callers are refused
  std::string cause;
};
struct FailedStop {
  SleepReason why;
  Duration after{};
  Duration retry_in{};
  std::string cause;
};

class SleepObserver {
 public:
  virtual ~SleepObserver() = default;
  virtual void slept(const FellAsleep&) {}
  virtual void woke(const WokeUp&) {}
  virtual void wake_failed(const FailedWake&) {}
  virtual void stop_failed(const FailedStop&) {}
  virtual void idle_state_changed(IdleState) {}  // after the above
};

std::string_view name_of(Waker);        // caller call app_due operator
std::string_view name_of(SleepReason);  // idle operator failed_wake

// For status and metrics, at the moment of describing.
struct IdleDescription {
  IdleState state = IdleState::active;
  Duration since{};                     // in this state
  std::optional<BlockedBy> blocked_by;  // active: kept_awake_by()
  std::optional<Waker> woken_by;        // waking, active: none if it never slept
  bool warm = false;                    // asleep: --warmth is kept; false: the next caller waits for a load from disk
  Duration warm_for{};                  // asleep and warm: so long yet
  // After a failed wake (callers are refused), or after a failed stop (awake): zero if there is none.
  Duration refuses_for{}, no_sleep_for{};
  std::string failure;  // why the last wake or stop failed; empty since one succeeded
  Duration awake{};     // in all, since the start: the time in which it was not asleep
};
}  // namespace moult
