#pragma once
// Runs one pure core on the loop: no event is handled inside another, one timer a core.
// Owned by its shell, on the loop's thread; may be destroyed at any time but from inside its own `perform`.
#include <uv.h>
#include <deque>
#include <functional>
#include <utility>
#include "base/clock.h"
#include "base/step.h"
#include "base/uv_handle.h"
namespace moult {
inline MonotonicTime monotonic_now(uv_loop_t* loop) { return MonotonicTime(std::chrono::milliseconds(uv_now(loop))); }
inline void read_clock(uv_loop_t* loop, MonotonicTime& now) { now = monotonic_now(loop); }
inline void read_clock(uv_loop_t* loop, Clocks& now) { now = {monotonic_now(loop), std::chrono::system_clock::now()}; }

template <class State, class Event, class Action, class Policy, class Now = MonotonicTime>
class Machine {
 public:
  using Perform = std::function<void(const Action&)>;
  Machine(uv_loop_t* loop, State state, const Policy& policy, Perform perform)
      : loop_(loop),
        state_(std::move(state)),
        policy_(policy),
        perform_(std::move(perform)),
        timer_(make_timer(loop, this)) {}
  Machine(const Machine&) = delete;  // the timer points here
  Machine& operator=(const Machine&) = delete;
  const State& state() const { return state_; }
  // Called after events were taken and all their actions performed; for those who look at the state as a whole.
  void on_settled(std::function<void()> settled) { settled_ = std::move(settled); }
  void post(Event event) {
    queue_.push_back(std::move(event));
    if (running_) return;
    running_ = true;
    while (!queue_.empty()) {
      const Event next = std::move(queue_.front());
      queue_.pop_front();
      auto step = transition(std::move(state_), next, policy_, now());
      state_ = std::move(step.state);
      for (const Action& action : step.actions) perform_(action);
    }
    running_ = false;
    arm();
    if (settled_) settled_();
  }

 private:
  Now now() const {
    Now read{};
    read_clock(loop_, read);
    return read;
  }
  void arm() {
    const MonotonicTime at = next_deadline(state_, now());
    if (at == never) {
      uv_timer_stop(timer_.get());
      return;
    }
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(at - monotonic_now(loop_)).count();
    uv_timer_start(
        timer_.get(), [](uv_timer_t* t) { static_cast<Machine*>(t->data)->post(TimePassed{}); },
        ms > 0 ? static_cast<std::uint64_t>(ms) : 0, 0);
  }
  uv_loop_t* loop_;
  State state_;
  const Policy& policy_;
  Perform perform_;
  std::deque<Event> queue_;
  bool running_ = false;
  std::function<void()> settled_;
  UvHandle<uv_timer_t> timer_;
};
}  // namespace moult
