#include "base/budget_timer.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/event_loop.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

class BudgetTimerTest : public testing::Test {
 protected:
  EventLoop loop_;
  int fired_ = 0;
  std::unique_ptr<BudgetTimer> timer_ = std::make_unique<BudgetTimer>(loop_.get(), [this] { ++fired_; });

  MonotonicTime now() { return monotonic_now(loop_.get()); }
  Duration run() {
    const MonotonicTime start = now();
    uv_run(loop_.get(), UV_RUN_DEFAULT);
    return now() - start;
  }
};

TEST_F(BudgetTimerTest, FiresOnceAtTheBudgetsEndAndNotBefore) {
  timer_->at_end_of({now() + 20ms + 1ns});
  EXPECT_GE(run(), 21ms) << "the loop counts whole milliseconds";
  EXPECT_EQ(fired_, 1);
}

TEST_F(BudgetTimerTest, ABudgetThatIsSpentFiresInTheNextTurnAndNotFromInside) {
  timer_->at_end_of({now() - 1s});
  EXPECT_EQ(fired_, 0);
  uv_run(loop_.get(), UV_RUN_NOWAIT);
  EXPECT_EQ(fired_, 1);
}

TEST_F(BudgetTimerTest, AWaitThatDoesNotFitIsNotBegun) {
  EXPECT_FALSE(timer_->after(50ms, {now() + 50ms}));
  run();
  EXPECT_EQ(fired_, 0);
  EXPECT_TRUE(timer_->after(5ms, {now() + 5ms + 1ns}));
  EXPECT_GE(run(), 5ms);
  EXPECT_EQ(fired_, 1);
}

TEST_F(BudgetTimerTest, NoWaitAtAllAlwaysFits) {
  EXPECT_TRUE(timer_->after(0ms, {now() - 1s}));
  run();
  EXPECT_EQ(fired_, 1);
}

TEST_F(BudgetTimerTest, ArmedAgainItWaitsForTheLastAlone) {
  timer_->at_end_of({now() + 1h});
  timer_->at_end_of({now() + 1ms});
  run();
  EXPECT_EQ(fired_, 1);
}

TEST_F(BudgetTimerTest, StoppedOrDestroyedItDoesNotFire) {
  timer_->at_end_of({now() + 1ms});
  timer_->stop();
  run();
  timer_->at_end_of({now() + 1ms});
  timer_.reset();
  run();
  EXPECT_EQ(fired_, 0);
}

TEST_F(BudgetTimerTest, ItMayBeDestroyedWhileItFires) {
  timer_ = std::make_unique<BudgetTimer>(loop_.get(), [this] {
    timer_.reset();
    ++fired_;
  });
  timer_->at_end_of({now()});
  run();
  EXPECT_EQ(fired_, 1);
}
}  // namespace
}  // namespace moult
