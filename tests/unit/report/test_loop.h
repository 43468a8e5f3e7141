#pragma once
// A loop that turns though nothing keeps it alive: the handles under test are unreferenced, and libuv runs no timers of
// a loop that has nothing to live for.
#include <gtest/gtest.h>
#include <uv.h>

#include "tests/unit/report/testing.h"
namespace moult::testing {
class TestLoop {
 public:
  TestLoop() {
    uv_loop_init(&loop_);
    uv_async_init(&loop_, &reason_to_live_, nullptr);
  }
  ~TestLoop() {
    uv_close(reinterpret_cast<uv_handle_t*>(&reason_to_live_), nullptr);
    uv_run(&loop_, UV_RUN_DEFAULT);
    EXPECT_EQ(uv_loop_close(&loop_), 0);
  }
  TestLoop(const TestLoop&) = delete;
  TestLoop& operator=(const TestLoop&) = delete;

  uv_loop_t* get() { return &loop_; }
  template <class Condition>
  bool turn_until(Condition condition) {
    return eventually([&] {
      uv_run(&loop_, UV_RUN_NOWAIT);
      return condition();
    });
  }

 private:
  uv_loop_t loop_;
  uv_async_t reason_to_live_;
};
}  // namespace moult::testing
