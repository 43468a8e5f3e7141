#pragma once
// The one timer of whoever waits inside a Budget: it fires at the budget's end, or after a wait that fits in it. There
// is no way to arm it without a Budget (tests/tidy holds lease/ and sleep/ to this timer). On the loop's thread;
// destroying it stops it. `fired` is never called from inside a call, and may destroy the timer.
#include <uv.h>

#include <functional>
#include <utility>

#include "base/budget.h"
#include "base/machine.h"
#include "base/uv_handle.h"
namespace moult {
class BudgetTimer {
 public:
  BudgetTimer(uv_loop_t* loop, std::function<void()> fired)
      : loop_(loop), fired_(std::move(fired)), timer_(make_timer(loop, this)) {}
  BudgetTimer(const BudgetTimer&) = delete;  // the timer points here
  BudgetTimer& operator=(const BudgetTimer&) = delete;

  // Arming it again replaces what it waited for. A budget that is spent already: in the loop's next turn.
  void at_end_of(Budget budget) { start(budget.left(monotonic_now(loop_))); }
  // False: the wait does not fit, and is not begun. Zero always fits: in the loop's next turn.
  [[nodiscard]] bool after(Duration wait, Budget budget) {
    if (wait > Duration::zero() && !budget.affords(wait, monotonic_now(loop_))) return false;
    start(wait);
    return true;
  }
  void stop() { uv_timer_stop(timer_.get()); }

 private:
  void start(Duration wait) {
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(wait).count();  // the loop's unit; never too early
    uv_timer_start(
        timer_.get(),
        [](uv_timer_t* t) {
          const auto fired = static_cast<BudgetTimer*>(t->data)->fired_;  // a copy: it may destroy us
          fired();
        },
        ms > 0 ? static_cast<std::uint64_t>(ms) : 0, 0);
  }
  uv_loop_t* loop_;
  std::function<void()> fired_;
  UvHandle<uv_timer_t> timer_;
};
}  // namespace moult
