#include "master/sleep/schedule.h"

#include <algorithm>
namespace moult {
namespace {
WallTime first_after(const ScheduledCall& call, WallTime after) {
  return next_after(call.when, after).value_or(WallTime::max());
}

MonotonicTime on_monotonic(WallTime at, Clocks now) {
  if (at == WallTime::max()) return never;
  const Duration away = at <= now.wall ? Duration::zero() : at - now.wall;
  return away >= never - now.monotonic ? never : now.monotonic + away;
}

// One event and what follows from it.
class Transition {
 public:
  Transition(Schedule& schedule, const SchedulePolicy& policy, Clocks now, std::vector<ScheduleAction>& actions)
      : schedule_(schedule), policy_(policy), now_(now), actions_(actions) {}

  void operator()(const Claimed& e) {
    Call* call = find(e.name, CallState::claiming);
    if (!call) return;
    if (e.ours) deliver(*call);
    else call->state = CallState::waiting;
  }
  void operator()(const Answered& e) { end(e.name, e.status); }
  void operator()(const Undelivered& e) { end(e.name, std::nullopt); }
  void operator()(const RunNow& e) {
    Call* call = find(e.name, CallState::waiting);
    if (!call) return;
    call->due = now_.wall;
    call->by_hand = true;
    deliver(*call);
  }
  void operator()(const TimePassed&) {}

  // What is due: before each event, so that one in the very moment of a due time does not take its place; and after.
  void settle() {
    const bool set_back = now_.wall < schedule_.seen;
    schedule_.seen = now_.wall;
    for (std::size_t i = 0; i < schedule_.calls.size(); ++i) {
      Call& call = schedule_.calls[i];
      if (set_back) anchor_again(call, policy_.calls[i]);
      switch (call.state) {
        case CallState::waiting: look_at(call, policy_.calls[i]); break;
        case CallState::claiming:
        case CallState::running: break;
      }
    }
  }

 private:
  Call* find(const std::string& name, CallState state) {
    const auto found = std::ranges::find_if(schedule_.calls,
                                            [&](const Call& each) { return each.name == name && each.state == state; });
    return found == schedule_.calls.end() ? nullptr : &*found;
  }
  void anchor_again(Call& call, const ScheduledCall& entry) {
    const WallTime by_this_clock = first_after(entry, now_.wall);
    if (first_after(entry, by_this_clock) < call.next_at) call.next_at = by_this_clock;
  }
  void look_at(Call& call, const ScheduledCall& entry) {
    if (call.next_at > now_.wall) return;
    call.due = call.next_at;
    call.by_hand = false;
    call.next_at = first_after(entry, now_.wall);
    switch (entry.scope) {
      case Scope::instance: return deliver(call);
      case Scope::fleet:
        call.state = CallState::claiming;
        actions_.push_back(Claim{call.name, call.due});
        return;
    }
  }
  void deliver(Call& call) {
    call.state = CallState::running;
    actions_.push_back(Deliver{call.name, call.due});
  }
  void end(const std::string& name, std::optional<int> status) {
    Call* call = find(name, CallState::running);
    if (!call) return;
    call->state = CallState::waiting;
    call->last_status = status;
  }

  Schedule& schedule_;
  const SchedulePolicy& policy_;
  const Clocks now_;
  std::vector<ScheduleAction>& actions_;
};
}  // namespace

Schedule begin(const SchedulePolicy& policy, Clocks now) {
  Schedule schedule{.seen = now.wall};
  for (const ScheduledCall& each : policy.calls)
    schedule.calls.push_back({.name = each.name, .next_at = first_after(each, now.wall)});
  return schedule;
}

Step<Schedule, ScheduleAction> transition(Schedule schedule, const ScheduleEvent& event, const SchedulePolicy& policy,
                                          Clocks now) {
  Step<Schedule, ScheduleAction> step{std::move(schedule), {}};
  Transition taken(step.state, policy, now, step.actions);
  taken.settle();
  std::visit(taken, event);
  taken.settle();
  return step;
}

MonotonicTime next_deadline(const Schedule& schedule, const SchedulePolicy& policy, Clocks now) {
  MonotonicTime soonest = never;
  for (const Call& each : schedule.calls) {
    if (each.state != CallState::waiting) continue;
    const MonotonicTime look = now.monotonic + policy.look_at_least_every;
    soonest = std::min({soonest, on_monotonic(each.next_at, now), look});
  }
  return soonest;
}

std::optional<WallTime> next_due(const Schedule& schedule) {
  std::optional<WallTime> soonest;
  for (const Call& each : schedule.calls) {
    // The clock may have been set back since: what is in hand is not in the future for that.
    const WallTime due = each.state == CallState::waiting ? each.next_at : std::min(each.due, schedule.seen);
    soonest = std::min(soonest.value_or(WallTime::max()), due);
  }
  return soonest;
}

MonotonicTime next_call_due(const Schedule& schedule, Clocks now) {
  return on_monotonic(next_due(schedule).value_or(WallTime::max()), now);
}

std::string_view name_of(CallState state) {
  switch (state) {
    case CallState::waiting: return "waiting";
    case CallState::claiming: return "claiming";
    case CallState::running: return "running";
  }
  return "";
}
}  // namespace moult
