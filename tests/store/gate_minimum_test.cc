// What an instance says of its health crosses what it is granted: the minimum holds all the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/store/gate_on_redis.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

class GateMinimum : public GatesOnRedis {
 protected:
  GateMinimum() {
    policy = {.permits = 4, .rate_per = RatePer::unlimited, .minimum_healthy_percent = 75};
    capacity = {2, 2};
    first_ = std::make_unique<RedisGate>(loop.get(), options("first"), [this] {
      const bool away = question_ && question_->granted();  // as soon as it is allowed
      return Capacity{capacity.wanted, capacity.healthy - (away && capacity.healthy > 0 ? 1u : 0u)};
    });
    second_ = gate("second");
  }
  std::unique_ptr<Question> question_;         // the first's
  std::unique_ptr<RedisGate> first_, second_;  // each of two workers: of the four one may be away

  void both_are_known() {
    ASSERT_TRUE(comes_true([&] { return look(*first_)->members.size() == 2; }));
  }
};

TEST_F(GateMinimum, OfAFourthIsOneAtATime) {
  both_are_known();
  question_ = asked(*first_);
  ASSERT_TRUE(question_->granted());
  EXPECT_EQ(asked(*second_)->refused(), Refusal::below_minimum);
}

TEST_F(GateMinimum, AHeartbeatThatIsMadeBeforeTheAnswerAndReadAfterItHidesNothing) {
  both_are_known();
  server.signal(SIGSTOP);
  question_ = ask(*first_);
  loop.run_for(10ms);  // on its way
  capacity = {0, 0};
  first_->capacity_changed();
  capacity = {2, 2};
  first_->capacity_changed();
  loop.run_for(10ms);
  server.signal(SIGCONT);
  ASSERT_TRUE(comes_true([&] { return question_->answer.has_value(); }));
  ASSERT_TRUE(question_->granted());
  EXPECT_EQ(asked(*second_)->refused(), Refusal::below_minimum);
}

TEST_F(GateMinimum, AHeartbeatThatStoodBackIsToldWhenTheAnswerIsThere) {
  both_are_known();
  server.signal(SIGSTOP);
  question_ = ask(*first_);
  loop.run_for(10ms);
  capacity = {0, 0};
  first_->capacity_changed();
  server.signal(SIGCONT);
  ASSERT_TRUE(comes_true([&] { return look(*second_)->health.wanted == 2; })) << "it sleeps";
  EXPECT_TRUE(question_->granted());
}
}  // namespace
}  // namespace moult
