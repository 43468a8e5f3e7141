#pragma once
// When the app sleeps (DESIGN §8). Pure; run by Sleeper, which has the workers, the clients and the hooks.
//
//   active   -> stopping  its idle window is over, nothing is in flight or undelivered, and no call is due within
//                         `idle`; or an operator
//   stopping -> asleep    the last worker is gone: the only way to fall asleep, so nothing is ever in flight then
//   stopping -> active    the stop failed: a hook, a worker that cannot be killed, a response that can neither be
//                         delivered nor aborted; or its deadline. Back-off: no new attempt before `stop.retry_at`
//   stopping -> waking    a caller, a due call, the app's own due time or an operator
//   asleep   -> waking    the same. Nobody but an operator before `wake.retry_at`: until then callers are refused
//   waking   -> active    the first worker serves
//   waking   -> stopping  its deadline, or the app is rejected: callers are refused until `wake.retry_at`, and the app
//                         is asleep once nobody is left, which may be at once
//
// One wake however many callers, one attempt in a refusal window, and one budget for it, from the first caller, also
// when that one came during a stop. Visitors move the clock of the idle window; calls do not. Each wake starts one
// window, whoever woke the app. An operator's sleep while the app is waking changes nothing: who waits would wake it.
//
// Its only hold on the pool is the mode that Serve and Sleep stand for: a reload in the middle of a wake has nothing of
// ours to overwrite.
#include <functional>
#include <optional>
#include <string_view>
#include <variant>

#include "base/backoff.h"
#include "base/step.h"
namespace moult {
enum class IdleState { active, stopping, asleep, waking };
enum class Waker { caller, call, app_due, operator_wish };
enum class SleepReason { idle, operator_wish, failed_wake };
enum class BlockedBy {  // what keeps the app awake
  switched_off,         // --idle 0
  upgraded,             // a WebSocket or an event stream is open
  request,              // a visitor's is in flight
  call,                 // a scheduled call is in flight
  undelivered,          // the last byte of some response is not acknowledged
  no_room_to_park,      // there are more idle connections than parking can take
  window,               // a visitor, or a wake, is not `idle` ago
  call_due,             // the next call is due within `idle`
  failed_stop,          // backing off
};

struct IdlePolicy {
  Duration idle{};          // --idle; zero: it never sleeps by itself
  Duration wake_timeout{};  // --wake-timeout: the budget of one wake
  Duration stop_timeout{};  // how long hook, drain and delivery may take together before a stop counts as failed
  Duration warm_for{};      // --warm-for
  // How soon something that may end at any moment (a request, a WebSocket) is looked at again: a sweep of shared
  // memory takes microseconds, and a sleep may be a second late.
  Duration look_every = std::chrono::seconds(1);
  // How soon at the latest while a call is waited for: wall time may be set.
  Duration look_at_least_every = std::chrono::minutes(1);
  BackoffPolicy failed_wakes{std::chrono::seconds(1), std::chrono::seconds(30)};  // DESIGN §8
  // A choice: each attempt may cost all workers, so that it is made rarely where it does not succeed.
  BackoffPolicy failed_stops{std::chrono::seconds(30), std::chrono::minutes(30)};
};

// Read in one sweep over the workers.
struct Activity {
  unsigned requests = 0, upgraded = 0, calls = 0, undelivered = 0;
  bool has_room_to_park = true;
  MonotonicTime last_visitor_at{};
  MonotonicTime next_call_due = never;  // next_due() of the schedule; the past: one is in hand
};

struct Idle {
  IdleState state = IdleState::active;
  MonotonicTime since{};                // in this state
  MonotonicTime deadline = never;       // stopping, waking: when it counts as failed
  MonotonicTime window_from{};          // the last wake, or the start
  MonotonicTime look_at = never;        // active
  MonotonicTime warm_until = never;     // asleep; never: nothing is warm any more
  MonotonicTime app_due_at = never;     // the earliest time by which the app itself wants to be woken
  bool call_waits = false;              // a scheduled call wants to be delivered, and nobody serves
  Backoff wake, stop;                   // failed ones
  std::optional<Waker> woken_by;        // waking, active: none if it never slept
  std::optional<BlockedBy> blocked_by;  // active: as of the last look; none: there was none yet
};

struct Swept {  // the answer to Sweep; may come unasked
  Activity activity;
};
struct CallerWaits {};  // a client speaks, or waits to be accepted, and nobody serves
struct CallDue {};      // the schedule delivers a call
struct NoCallWaits {};  // each was answered or given up
struct AppDue {         // a worker said at its end when it is needed again
  MonotonicTime at;
};
struct FirstServing {};
struct WakeFailed {};  // the app was rejected: more attempts would not help
struct LastGone {};    // no worker is left, and nothing lingers; follows each Sleep, unless StopFailed does
struct StopFailed {};
struct CodeChanged {};  // a reload: what failed before may work now, and its code is loaded
struct OperatorSleep {};
struct OperatorWake {};
using IdleEvent = std::variant<Swept, CallerWaits, CallDue, NoCallWaits, AppDue, FirstServing, WakeFailed, LastGone,
                               StopFailed, CodeChanged, OperatorSleep, OperatorWake, TimePassed>;

struct Sweep {};             // sweep, and post Swept
struct Serve {               // SetMode{serve}
  std::optional<Waker> why;  // none: the stop failed
};
struct Sleep {  // SetMode{sleep}
  SleepReason why;
};
struct WatchCallers {  // accept into parking and listen to those that are parked; those that wait there already, too. A
  bool on;             // call that no worker took from the internal door any more is a CallDue, once
};
struct RefuseCallers {  // those that wait and those that come: politely, until then
  MonotonicTime until;
};
struct AdmitCallers {};  // the window has ended before its time
struct DropWarmth {};    // end spares and fork servers
using IdleAction = std::variant<Sweep, Serve, Sleep, WatchCallers, RefuseCallers, AdmitCallers, DropWarmth>;

// At the start of the master, with what was saved (saved_state.h).
Step<Idle, IdleAction> begin(IdleState saved, const IdlePolicy&, MonotonicTime now);
Step<Idle, IdleAction> transition(Idle, const IdleEvent&, const IdlePolicy&, MonotonicTime now);
MonotonicTime next_deadline(const Idle&, MonotonicTime now);

// The guard: no call is due within `idle`. There is no second constant.
bool guard_permits_sleep(MonotonicTime next_call_due, Duration idle, MonotonicTime now);
// Why an active app may not sleep now; none: it may.
std::optional<BlockedBy> blocked_by(const Idle&, const Activity&, const IdlePolicy&, MonotonicTime now);
// What an active app is said to be kept awake by, between two looks: what may have ended since the last one is not said
// any more when the next is later than look_every, for until then it is the window in any case.
std::optional<BlockedBy> kept_awake_by(const Idle&, const IdlePolicy&, MonotonicTime now);

// One look, in the only safe order: a call that falls due between the two is still seen as due. (The other way round it
// could be delivered after the sweep and be rescheduled before the guard is asked, and its worker would be retired.)
Activity look(const std::function<MonotonicTime()>& next_call_due, const std::function<Activity()>& sweep);

std::string_view name_of(IdleState);  // as in status and in the saved state
std::string_view name_of(BlockedBy);  // as in status, `idle.blocked_by`
}  // namespace moult
