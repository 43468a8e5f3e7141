#pragma once
// Runs calls on the next turn of the loop, in order: for answers that must not be given from inside the question.
// Owned by whoever makes the calls; destroying it cancels those that were not made yet, also from inside one.
#include <deque>
#include <functional>
#include <utility>

#include "base/uv_handle.h"
namespace moult {
class Later {
 public:
  explicit Later(uv_loop_t* loop) : timer_(make_timer(loop, this)) {}
  ~Later() { timer_->data = nullptr; }
  Later(const Later&) = delete;
  Later& operator=(const Later&) = delete;

  void run(std::function<void()> call) {
    calls_.push_back(std::move(call));
    uv_timer_start(timer_.get(), &Later::passed, 0, 0);
  }

 private:
  static void passed(uv_timer_t* timer) {
    auto* self = static_cast<Later*>(timer->data);
    // Only those that wait now: one that is asked for meanwhile has its own turn.
    for (std::size_t left = self->calls_.size(); left > 0; --left) {
      const auto call = std::move(self->calls_.front());
      self->calls_.pop_front();
      call();
      if (timer->data == nullptr) return;  // that call destroyed us; libuv frees the timer on a later turn
    }
  }
  std::deque<std::function<void()>> calls_;
  UvHandle<uv_timer_t> timer_;
};
}  // namespace moult
