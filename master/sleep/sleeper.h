#pragma once
// The shell of idle.h: an app that goes to sleep and wakes. Has the idle core, performs its actions through
// SleeperParts, and tells it what the pool, the callers and the operator do. Made by Instance, on the loop's thread;
// the last of the Supervisor's observers, so that callers are let in when everybody else knows that a worker serves.
//
// A stop runs in stages; whatever wakes the app ends it at any of them:
//   hook        --on-sleep runs; the workers serve on. Whoever calls one of them meanwhile wakes the app
//   retiring    the pool sleeps: workers finish what is in flight
//   delivering  nobody is left but spares: what was sent is waited for
// After a failed wake there is no hook: the app was never up.
//
// A master that begins asleep loads the code and launches nobody. One that begins awake counts its idle window from the
// first worker that serves: until then nothing is decided, but for an operator.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/machine.h"
#include "base/result.h"
#include "master/pool/worker_observer.h"
#include "master/sleep/sleep_observer.h"
namespace moult {
// Something under way; whose destruction cancels it. None: it has ended, or there was nothing to wait for.
using Underway = std::shared_ptr<void>;
using Told = std::function<void(Result<void>)>;

// What the Sleeper can do. None may be empty but the two that are marked so.
struct SleeperParts {
  std::function<const Pool&()> pool;
  std::function<Activity()> sweep;  // its next_call_due is not looked at
  std::function<MonotonicTime()> next_call_due;
  std::function<void()> sleep, serve;        // the pool's mode
  std::function<void(bool keep)> keep_warm;  // asleep, as --warmth says; ends with a worker that serves
  std::function<void()> drop_warmth;         // asleep, after --warm-for
  std::function<void(bool on)> watch_callers;
  std::function<void(MonotonicTime until)> refuse_callers;
  std::function<void()> admit_callers;
  std::function<void(IdleState)> save;
  std::function<std::string()> trouble;  // why a load or boot failed in the wake in hand; empty: none did
  // Both tell once, also from inside; an error is a stop that failed.
  std::function<Underway(SleepReason, Told)> before_sleep;  // the hook; empty: there is none
  std::function<Underway(Told)> deliver;                    // empty: nothing is waited for
};

class Sleeper final : public WorkerObserver {
 public:
  Sleeper(uv_loop_t*, const IdlePolicy&, IdleState saved, SleeperParts);
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  void observe(SleepObserver& observer) { observers_.push_back(&observer); }  // before start(); outlives us

  void start();  // before the Supervisor's
  // A stop of the whole instance has begun: nothing is decided any more, and the doors are not watched. Before the
  // listeners are closed. Again: no effect.
  void end();

  // An operator's. `told` once, also from inside: nothing, or why it did not come to that.
  void sleep(Told told);
  void wake(Told told);

  void caller_waits() { post(CallerWaits{}); }
  void call_due() { post(CallDue{}); }
  void no_call_waits() { post(NoCallWaits{}); }
  void app_due(MonotonicTime at);  // by which the app wants to be awake: a wake begins in time for it
  // No code is left that could serve, or it has failed too often: more attempts would not help.
  void wake_failed(const std::string& cause);
  void code_changed() { post(CodeChanged{}); }  // a reload was asked for

  bool asleep() const { return machine_.state().state == IdleState::asleep; }
  IdleDescription describe() const;

  void worker_serving(const Worker&, pid_t) override;
  void pool_settled(const Pool&) override;

 private:
  enum class Stage { none, hook, retiring, delivering };
  struct Wish {
    IdleState wanted;  // active or asleep
    Told told;
  };

  void post(IdleEvent event) {
    if (!ended_) machine_.post(std::move(event));
  }
  void perform(const IdleAction&);
  void begin_stop(const Sleep&);
  void hook_ended(const Result<void>&);
  void retire();
  void deliver();
  void delivered(const Result<void>&);
  void stop_failed(const Error&);
  void end_stop();
  void serve(const Serve&);
  void watch_callers(bool on);
  void settled();
  void note(IdleState);
  void settle_wishes();
  void wish(IdleState wanted, IdleEvent, Told);
  MonotonicTime now() const { return monotonic_now(loop_); }
  template <class Say>
  void tell(Say say) {
    for (SleepObserver* each : observers_) say(*each);
  }

  uv_loop_t* loop_;
  const IdlePolicy policy_;
  SleeperParts parts_;
  std::vector<SleepObserver*> observers_;
  bool begun_ = false, ended_ = false;
  Stage stage_ = Stage::none;
  Underway underway_, departed_;  // the latter: one that has told, since it cannot be destroyed inside its own call
  bool callers_are_watched_ = false;
  SleepReason stop_reason_ = SleepReason::idle;
  MonotonicTime began_{};             // the stop or the wake in hand
  std::optional<Waker> waker_;        // of the wake in hand
  MonotonicTime up_since_{};          // the start, or the last wake
  Duration longest_wake_{};           // or the start, which is one from disk
  MonotonicTime down_since_ = never;  // when it fell asleep; never: it has been awake since
  MonotonicTime costs_since_{};       // while it is not asleep
  Duration awake_{};                  // before costs_since_
  IdleState noted_;                   // what observers and the saved state know
  std::string failure_;               // of the stop in hand; then of the last wake or stop
  std::vector<Wish> wishes_;          // bounded by the control socket's clients
  Machine<Idle, IdleEvent, IdleAction, IdlePolicy> machine_;
};
}  // namespace moult
