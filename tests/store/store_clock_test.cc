// A store whose clock is set while a fleet uses it: by an hour, forward and back.
#include <gtest/gtest.h>

#include "tests/store/gate_on_redis.h"
#include "tests/store/set_clock.h"

namespace moult {
namespace {
using namespace std::chrono_literals;

class StoreWhoseClockIsSet : public GatesOnRedis {
 protected:
  StoreWhoseClockIsSet() {
    server.stop();
    server.set_environment(clock_.environment());
    server.start();
  }
  void set_clock(std::chrono::microseconds ahead) { clock_.set(ahead); }
  StoreTime time() { return time_of(store); }

 private:
  SetClock clock_{server.folder() / "shift"};
};

TEST_F(StoreWhoseClockIsSet, IsTheOneThatTheTestsSet) {
  const StoreTime before = time();
  set_clock(-1h);
  EXPECT_NEAR(std::chrono::duration<double>(time() - before).count(), -3600, 60);
  set_clock(1h + 500ms);
  EXPECT_NEAR(std::chrono::duration<double>(time() - before).count(), 3600, 60);
}

TEST_F(StoreWhoseClockIsSet, NoQuestionIsLateForThat) {
  const auto a = gate("a");
  policy.permits = 9;
  ASSERT_TRUE(comes_true([&] { return stored().instances.size() == 1; }));
  for (const auto ahead :
       {std::chrono::microseconds(1h), std::chrono::microseconds(-1h), std::chrono::microseconds(5min)}) {
    set_clock(ahead);
    const auto question = asked(*a, Urgency::routine, 10s);
    EXPECT_TRUE(question->granted()) << ahead.count();
    redis({"FLUSHALL"});
  }
}

TEST_F(StoreWhoseClockIsSet, SetBackItGivesNoLeaseMoreThanOneTimeToLive) {
  const auto a = gate("a");
  const auto held = asked(*a);
  ASSERT_TRUE(held->granted());
  set_clock(-1h);
  EXPECT_EQ(asked(*a)->refused(), Refusal::lease_held);
  EXPECT_LE(stored().permits.at(0).expires_at, time() + 120s);
}

TEST_F(StoreWhoseClockIsSet, SetForwardItEndsTheLeasesAndTheTokensStillRise) {
  const auto a = gate("a"), b = gate("b");
  const auto held = asked(*a);
  ASSERT_TRUE(held->granted());
  set_clock(1h);
  const auto next = asked(*b);
  ASSERT_TRUE(next->granted());
  EXPECT_GT(next->granted()->fencing_token, held->granted()->fencing_token);
  set_clock(0s);
  redis({"DEL", ledger_keys("shop")[1]});
  const auto third = asked(*a);
  ASSERT_TRUE(third->granted());
  EXPECT_GT(third->granted()->fencing_token, next->granted()->fencing_token);
}

// What a question's end is in the store's clock is learnt anew from the first answer.
TEST_F(StoreWhoseClockIsSet, SetBackItStillTakesNoQuestionThatWasGivenUp) {
  const auto a = gate("a");
  ASSERT_TRUE(comes_true([&] { return stored().instances.size() == 1; }));
  set_clock(-1h);
  ASSERT_TRUE(look(*a));  // any answer
  server.signal(SIGSTOP);
  EXPECT_EQ(asked(*a, Urgency::routine, 100ms)->refused(), Refusal::store_unreachable);
  loop.run_for(20ms);
  server.signal(SIGCONT);
  const auto seen = look(*a);
  ASSERT_TRUE(seen);
  EXPECT_TRUE(seen->permits.empty());
  EXPECT_FALSE(seen->members.at(0).last_refusal) << "it was late, and not even considered";
}
}  // namespace
}  // namespace moult
