#pragma once
// One idle core under a test: events in, what it did out.
#include <algorithm>
#include <vector>

#include "master/sleep/idle.h"
namespace moult {
struct IdleSteps {
  IdlePolicy policy{.idle = std::chrono::minutes(15),
                    .wake_timeout = std::chrono::seconds(30),
                    .stop_timeout = std::chrono::minutes(6),
                    .warm_for = std::chrono::hours(4)};
  MonotonicTime now{std::chrono::hours(1000)};
  Idle idle = begin(IdleState::active, policy, now).state;
  std::vector<IdleAction> done = {};  // by the last event

  void post(const IdleEvent& event) {
    auto step = transition(idle, event, policy, now);
    idle = step.state;
    done = std::move(step.actions);
  }
  void pass(Duration by) {
    now += by;
    post(TimePassed{});
  }
  template <class Action>
  const Action* did() const {
    const auto found =
        std::ranges::find_if(done, [](const IdleAction& each) { return std::holds_alternative<Action>(each); });
    return found == done.end() ? nullptr : &std::get<Action>(*found);
  }

  void sleep() {
    post(OperatorSleep{});
    post(LastGone{});
  }
  void fail_a_wake() {
    post(CallerWaits{});
    post(WakeFailed{});
    post(LastGone{});
  }
};
}  // namespace moult
