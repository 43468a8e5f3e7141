#pragma once
// Owner of the libuv loop. Made first and destroyed last: whoever has a handle on it must be gone before. Closing a
// handle takes one more turn of the loop, so the destructor turns it until nothing is left.
#include <uv.h>
namespace moult {
class EventLoop {
 public:
  EventLoop() { uv_loop_init(&loop_); }
  ~EventLoop() {
    for (int turn = 0; turn < most_closing_turns && uv_loop_close(&loop_) == UV_EBUSY; ++turn)
      uv_run(&loop_, UV_RUN_NOWAIT);
  }
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  uv_loop_t* get() { return &loop_; }

 private:
  static constexpr int most_closing_turns = 16;  // a handle that outlives its owner must not hold back our exit
  uv_loop_t loop_;
};
}  // namespace moult
