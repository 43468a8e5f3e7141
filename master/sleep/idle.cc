#include "master/sleep/idle.h"

#include <algorithm>
namespace moult {
namespace {
MonotonicTime later(MonotonicTime now, Duration by) { return by >= never - now ? never : now + by; }

// Without jitter, and the first one is not free: a wake begins when somebody calls, so that what failed at the same
// time is not tried again at the same time anyway.
Backoff failed_again(const Backoff& before, const BackoffPolicy& policy, MonotonicTime now) {
  const Duration delay = std::min(policy.cap, policy.first * (1u << std::min(before.failures, 16u)));
  return {before.failures + 1, now + delay};
}

MonotonicTime window_end(const Idle& idle, const Activity& activity, const IdlePolicy& policy) {
  return later(std::max(activity.last_visitor_at, idle.window_from), policy.idle);
}

bool may_end_at_any_moment(BlockedBy why) {
  switch (why) {
    case BlockedBy::upgraded:
    case BlockedBy::request:
    case BlockedBy::call:
    case BlockedBy::undelivered:
    case BlockedBy::no_room_to_park: return true;
    case BlockedBy::switched_off:
    case BlockedBy::window:
    case BlockedBy::call_due:
    case BlockedBy::failed_stop: break;
  }
  return false;
}

// When nobody calls: the first moment at which it is to be woken all the same.
MonotonicTime wake_at(const Idle& idle) {
  const MonotonicTime wanted = idle.call_waits ? MonotonicTime::min() : idle.app_due_at;
  return std::max(wanted, idle.wake.retry_at);
}

// One event and what follows from it.
class Transition {
 public:
  Transition(Idle& idle, const IdlePolicy& policy, MonotonicTime now, std::vector<IdleAction>& actions)
      : idle_(idle), policy_(policy), now_(now), actions_(actions) {}

  void operator()(const Swept& e) {
    if (idle_.state != IdleState::active) return;
    idle_.blocked_by = blocked_by(idle_, e.activity, policy_, now_);
    if (!idle_.blocked_by) return fall_asleep(SleepReason::idle);
    idle_.look_at = next_look(e.activity);
  }
  void operator()(const CallerWaits&) {
    if (now_ >= idle_.wake.retry_at) return wake_for(Waker::caller);
    actions_.push_back(RefuseCallers{idle_.wake.retry_at});
  }
  void operator()(const CallDue&) { idle_.call_waits = idle_.state != IdleState::active; }
  void operator()(const NoCallWaits&) { idle_.call_waits = false; }
  void operator()(const AppDue& e) {
    if (idle_.state != IdleState::active) idle_.app_due_at = std::min(idle_.app_due_at, e.at);  // else it is stale
  }
  void operator()(const FirstServing&) {
    if (idle_.state != IdleState::waking) return;
    idle_.wake = {};
    idle_.window_from = now_;
    enter_active();
  }
  void operator()(const WakeFailed&) {
    if (idle_.state == IdleState::waking) back_to_sleep();
  }
  void operator()(const LastGone&) {
    if (idle_.state != IdleState::stopping) return;
    enter(IdleState::asleep, never);
    idle_.stop = {};
    idle_.warm_until = later(now_, policy_.warm_for);
  }
  void operator()(const StopFailed&) {
    if (idle_.state != IdleState::stopping) return;
    idle_.stop = failed_again(idle_.stop, policy_.failed_stops, now_);
    end_refusals();
    actions_.push_back(Serve{std::nullopt});
    enter_active();
  }
  void operator()(const CodeChanged&) {
    end_refusals();
    if (idle_.state == IdleState::asleep) idle_.warm_until = later(now_, policy_.warm_for);
  }
  void operator()(const OperatorSleep&) {
    if (idle_.state == IdleState::active) fall_asleep(SleepReason::operator_wish);
  }
  void operator()(const OperatorWake&) {
    if (idle_.state == IdleState::active) {
      idle_.window_from = now_;
      return;
    }
    if (may_be_woken()) end_refusals();
    wake_for(Waker::operator_wish);
  }
  void operator()(const TimePassed&) {}

  // What is due: after each event.
  void settle() {
    switch (idle_.state) {
      case IdleState::active:
        if (now_ < idle_.look_at) return;
        idle_.look_at = later(now_, policy_.look_every);
        actions_.push_back(Sweep{});
        return;
      case IdleState::stopping:
        if (now_ >= wake_at(idle_)) return wake_by_itself();
        if (now_ < idle_.deadline) return;
        (*this)(StopFailed{});
        return settle();
      case IdleState::asleep:
        if (now_ >= wake_at(idle_)) return wake_by_itself();
        if (now_ < idle_.warm_until) return;
        idle_.warm_until = never;
        actions_.push_back(DropWarmth{});
        return;
      case IdleState::waking:
        if (now_ >= idle_.deadline) back_to_sleep();
        return;
    }
  }

 private:
  bool may_be_woken() const { return idle_.state == IdleState::stopping || idle_.state == IdleState::asleep; }
  void enter(IdleState state, MonotonicTime deadline) {
    idle_.state = state;
    idle_.since = now_;
    idle_.deadline = deadline;
    idle_.blocked_by = std::nullopt;
    idle_.look_at = idle_.warm_until = never;
  }
  void enter_active() {
    enter(IdleState::active, never);
    idle_.call_waits = false;
    idle_.app_due_at = never;
    idle_.look_at = policy_.idle > Duration::zero() ? now_ : never;
    actions_.push_back(WatchCallers{false});
  }
  void fall_asleep(SleepReason why) {
    idle_.woken_by = std::nullopt;
    actions_.push_back(Sleep{why});
    actions_.push_back(WatchCallers{true});
    enter(IdleState::stopping, later(now_, policy_.stop_timeout));
  }
  void back_to_sleep() {
    idle_.woken_by = std::nullopt;
    idle_.wake = failed_again(idle_.wake, policy_.failed_wakes, now_);
    actions_.push_back(RefuseCallers{idle_.wake.retry_at});
    actions_.push_back(Sleep{SleepReason::failed_wake});
    enter(IdleState::stopping, later(now_, policy_.stop_timeout));
  }
  void wake_by_itself() { wake_for(idle_.call_waits ? Waker::call : Waker::app_due); }
  void wake_for(Waker why) {
    if (!may_be_woken()) return;
    idle_.woken_by = why;
    actions_.push_back(Serve{why});
    enter(IdleState::waking, later(now_, policy_.wake_timeout));
  }
  void end_refusals() {
    if (now_ < idle_.wake.retry_at) actions_.push_back(AdmitCallers{});
    idle_.wake = {};
  }
  MonotonicTime next_look(const Activity& activity) const {
    if (*idle_.blocked_by == BlockedBy::switched_off) return never;
    MonotonicTime at = std::max(window_end(idle_, activity, policy_), idle_.stop.retry_at);
    if (may_end_at_any_moment(*idle_.blocked_by)) at = std::max(at, later(now_, policy_.look_every));
    if (guard_permits_sleep(activity.next_call_due, policy_.idle, std::max(at, now_))) return at;
    const MonotonicTime due = std::max(activity.next_call_due, later(now_, policy_.look_every));
    return std::max(at, std::min(due, later(now_, policy_.look_at_least_every)));
  }

  Idle& idle_;
  const IdlePolicy& policy_;
  const MonotonicTime now_;
  std::vector<IdleAction>& actions_;
};
}  // namespace

bool guard_permits_sleep(MonotonicTime next_call_due, Duration idle, MonotonicTime now) {
  return next_call_due == never || next_call_due - now > idle;
}

std::optional<BlockedBy> blocked_by(const Idle& idle, const Activity& activity, const IdlePolicy& policy,
                                    MonotonicTime now) {
  if (policy.idle <= Duration::zero()) return BlockedBy::switched_off;
  if (activity.upgraded > 0) return BlockedBy::upgraded;
  if (activity.requests > 0) return BlockedBy::request;
  if (activity.calls > 0) return BlockedBy::call;
  if (activity.undelivered > 0) return BlockedBy::undelivered;
  if (!activity.has_room_to_park) return BlockedBy::no_room_to_park;
  if (now < window_end(idle, activity, policy)) return BlockedBy::window;
  if (!guard_permits_sleep(activity.next_call_due, policy.idle, now)) return BlockedBy::call_due;
  if (now < idle.stop.retry_at) return BlockedBy::failed_stop;
  return std::nullopt;
}

std::optional<BlockedBy> kept_awake_by(const Idle& idle, const IdlePolicy& policy, MonotonicTime now) {
  if (idle.state != IdleState::active) return std::nullopt;
  if (policy.idle <= Duration::zero()) return BlockedBy::switched_off;
  const bool looks_soon = idle.look_at <= later(now, policy.look_every);
  if (!idle.blocked_by || (may_end_at_any_moment(*idle.blocked_by) && !looks_soon)) return BlockedBy::window;
  return idle.blocked_by;
}

Activity look(const std::function<MonotonicTime()>& next_call_due, const std::function<Activity()>& sweep) {
  const MonotonicTime due = next_call_due();
  Activity activity = sweep();
  activity.next_call_due = due;
  return activity;
}

Step<Idle, IdleAction> begin(IdleState saved, const IdlePolicy& policy, MonotonicTime now) {
  Step<Idle, IdleAction> step{{.since = now, .window_from = now}, {}};
  switch (saved) {
    case IdleState::active:
      if (policy.idle > Duration::zero()) step.state.look_at = later(now, policy.idle);
      return step;
    case IdleState::stopping:
    case IdleState::asleep:
    case IdleState::waking: break;
  }
  step.state.state = IdleState::asleep;
  step.state.warm_until = later(now, policy.warm_for);
  step.actions = {WatchCallers{true}};
  return step;
}

Step<Idle, IdleAction> transition(Idle idle, const IdleEvent& event, const IdlePolicy& policy, MonotonicTime now) {
  Step<Idle, IdleAction> step{idle, {}};
  Transition taken(step.state, policy, now, step.actions);
  std::visit(taken, event);
  taken.settle();
  return step;
}

MonotonicTime next_deadline(const Idle& idle, MonotonicTime now) {
  const auto soonest = [&] {
    switch (idle.state) {
      case IdleState::active: return idle.look_at;
      case IdleState::stopping: return std::min(idle.deadline, wake_at(idle));
      case IdleState::asleep: return std::min(idle.warm_until, wake_at(idle));
      case IdleState::waking: return idle.deadline;
    }
    return never;
  };
  return std::max(soonest(), now);
}

std::string_view name_of(IdleState state) {
  switch (state) {
    case IdleState::active: return "active";
    case IdleState::stopping: return "stopping";
    case IdleState::asleep: return "asleep";
    case IdleState::waking: return "waking";
  }
  return "";
}

std::string_view name_of(BlockedBy why) {
  switch (why) {
    case BlockedBy::switched_off: return "switched_off";
    case BlockedBy::upgraded: return "upgraded";
    case BlockedBy::request: return "request";
    case BlockedBy::call: return "call";
    case BlockedBy::undelivered: return "undelivered";
    case BlockedBy::no_room_to_park: return "no_room_to_park";
    case BlockedBy::window: return "window";
    case BlockedBy::call_due: return "call_due";
    case BlockedBy::failed_stop: return "failed_stop";
  }
  return "";
}
}  // namespace moult
