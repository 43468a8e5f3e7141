// Who counts in the fleet: not one that has never served, nor one that has left; but one that was killed.
#include <gtest/gtest.h>

#include "tests/store/gate_on_redis.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

class GateNewcomer : public GatesOnRedis {
 protected:
  void SetUp() override {
    ASSERT_TRUE(comes_true([&] { return look(*known_)->members.size() == 1; }));
  }
  unsigned wanted() { return static_cast<unsigned>(look(*known_)->health.wanted); }
  // Twice: what it says of itself when it is connected may come behind the first.
  bool has_looked(RedisGate& gate) { return look(gate) && look(gate); }
  void leaves(RedisGate& gate) {
    bool gone = false;
    gate.leave(loop.budget(patience), [&] { gone = true; });
    EXPECT_FALSE(gone) << "from inside";
    EXPECT_TRUE(comes_true([&] { return gone; }));
  }
  std::unique_ptr<RedisGate> of(const std::string& instance, const Capacity& capacity_of_it) {
    return std::make_unique<RedisGate>(loop.get(), options(instance), [&capacity_of_it] { return capacity_of_it; });
  }
  std::unique_ptr<RedisGate> known_ = gate("known");  // 4 of 4
  Capacity its{6, 0};
};

TEST_F(GateNewcomer, IsNotMissedBeforeOneOfItsWorkersServed) {
  const auto newcomer = of("newcomer", its);
  ASSERT_TRUE(has_looked(*newcomer));
  newcomer->capacity_changed();
  ASSERT_TRUE(has_looked(*newcomer));
  EXPECT_EQ(wanted(), 4u);
  its.healthy = 1;
  newcomer->capacity_changed();
  EXPECT_TRUE(comes_true([&] { return wanted() == 10; }));
  its.healthy = 0;
  newcomer->capacity_changed();
  ASSERT_TRUE(has_looked(*newcomer));
  EXPECT_EQ(wanted(), 10u) << "from now on it is";
}

TEST_F(GateNewcomer, OfOneThatWasKilledAndStartedAgainTheWorkersAreMissed) {
  its.healthy = 6;
  auto first = of("newcomer", its);
  ASSERT_TRUE(comes_true([&] { return look(*known_)->health.healthy == 10; }));
  first.reset();  // as if its process had been killed
  its.healthy = 0;
  const auto second = of("newcomer", its);
  EXPECT_TRUE(comes_true([&] { return look(*known_)->health == FleetHealth{10, 4}; }));
}

TEST_F(GateNewcomer, ThatLeavesIsNotMissedWhateverItSaidBefore) {
  its.healthy = 6;
  const auto newcomer = of("newcomer", its);
  ASSERT_TRUE(comes_true([&] { return wanted() == 10; }));
  leaves(*newcomer);
  EXPECT_EQ(wanted(), 4u);
  newcomer->capacity_changed();
  ASSERT_TRUE(has_looked(*newcomer));
  EXPECT_EQ(wanted(), 4u) << "nothing is told after the last word";
}

TEST_F(GateNewcomer, ThatWasKilledAndCannotBootAgainTakesItsLeaveOfBothLives) {
  its.healthy = 6;
  auto first = of("newcomer", its);
  ASSERT_TRUE(comes_true([&] { return wanted() == 10; }));
  first.reset();  // as if its process had been killed
  its.healthy = 0;
  const auto second = of("newcomer", its);
  leaves(*second);  // in its very first moment
  EXPECT_EQ(wanted(), 4u);
}

TEST_F(GateNewcomer, ThatNeverServedLeavesNoTrace) {
  const auto newcomer = of("newcomer", its);
  leaves(*newcomer);
  EXPECT_EQ(look(*known_)->members.size(), 1u);
}

TEST_F(GateNewcomer, GivesItsLeaseBackBeforeItIsGone) {
  its.healthy = 6;
  const auto newcomer = of("newcomer", its);
  auto held = asked(*newcomer);
  ASSERT_TRUE(held->granted());
  held.reset();
  leaves(*newcomer);
  EXPECT_TRUE(stored().permits.empty());
}

TEST_F(GateNewcomer, DoesNotWaitForAStoreThatIsAway) {
  ASSERT_TRUE(has_looked(*known_));
  server.signal(SIGSTOP);
  const MonotonicTime begun = loop.now();
  bool gone = false;
  known_->leave(loop.budget(300ms), [&] { gone = true; });
  EXPECT_TRUE(comes_true([&] { return gone; }));
  EXPECT_LT(loop.now() - begun, 2s);
  server.signal(SIGCONT);
}
}  // namespace
}  // namespace moult
