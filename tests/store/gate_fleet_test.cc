// A thousand gates in one process, each with its own connection, on one real store: what a fleet is promised holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "lease/redis_gate.h"
#include "tests/contract/redis_server.h"
#include "tests/store/grants.h"
#include "tests/store/store_loop.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

constexpr std::size_t fleet_size = 1000;

// An instance of two workers that always wants to replace one of them.
class EagerInstance {
 public:
  EagerInstance(StoreLoop& loop, const std::string& socket, const FleetPolicy& policy, std::size_t number,
                std::vector<SeenGrant>& grants)
      : loop_(loop), random_{number}, grants_(grants) {
    RedisGateOptions options{over_unix(socket), "fleet", "instance-" + std::to_string(number), policy};
    options.store.seed = number + 1;
    gate_ = std::make_unique<RedisGate>(loop.get(), options, [this] { return Capacity{2, held_since_ ? 1u : 2u}; });
    next_ = loop.now() + random_.up_to(1s);
  }
  void turn(MonotonicTime now, bool asks) {
    if (now < next_) return;
    if (held_since_) {
      grants_.push_back({token_, *held_since_, now});
      held_since_.reset();
      grant_.reset();
      next_ = now + random_.up_to(500ms);
    } else if (!grant_ && asks) {
      ++asked_;
      grant_ =
          gate_->acquire({asked_}, Urgency::routine, {now + 1s}, [this](const GateAnswer& answer) { heard(answer); });
    }
  }
  bool resting() const { return !grant_; }
  std::uint64_t refused(Refusal why) const { return gate_->describe().refusals.at(static_cast<std::size_t>(why)); }

 private:
  void heard(const GateAnswer& answer) {
    const MonotonicTime now = loop_.now();
    if (const auto* granted = std::get_if<Granted>(&answer)) {
      token_ = granted->fencing_token;
      held_since_ = now;
      next_ = now + random_.up_to(20ms);
      return;
    }
    grant_.reset();
    next_ = now + 50ms + random_.up_to(1s);
  }
  StoreLoop& loop_;
  Random random_;
  std::vector<SeenGrant>& grants_;
  std::uint64_t asked_ = 0, token_ = 0;
  std::optional<MonotonicTime> held_since_;
  MonotonicTime next_{};
  std::unique_ptr<RedisGate> gate_;
  std::unique_ptr<Grant> grant_;
};

struct Outcome {
  std::vector<SeenGrant> grants;
  std::uint64_t held = 0, no_tokens = 0, below_minimum = 0, unreachable = 0;
};

Outcome run_fleet(const FleetPolicy& policy, Duration time) {
  const RedisServer store;
  StoreLoop loop;
  Outcome outcome;
  std::vector<std::unique_ptr<EagerInstance>> fleet;
  for (std::size_t i = 0; i < fleet_size; ++i)
    fleet.push_back(std::make_unique<EagerInstance>(loop, store.socket(), policy, i, outcome.grants));
  const MonotonicTime end = loop.now() + time;
  EXPECT_TRUE(loop.run_until([&] {
    const MonotonicTime now = loop.now();
    bool resting = true;
    for (const auto& each : fleet) each->turn(now, now < end), resting = resting && each->resting();
    return now >= end && resting;
  }));
  for (const auto& each : fleet) {
    outcome.held += each->refused(Refusal::lease_held);
    outcome.no_tokens += each->refused(Refusal::no_tokens);
    outcome.below_minimum += each->refused(Refusal::below_minimum);
    outcome.unreachable += each->refused(Refusal::store_unreachable);
  }
  return outcome;
}

TEST(GateFleet, OneAtATimeIsNeverTwo) {
  const FleetPolicy policy{.permits = 1, .rate_per = RatePer::unlimited, .minimum_healthy_percent = 50};
  const Outcome outcome = run_fleet(policy, 5s);
  EXPECT_EQ(violation(outcome.grants, 1, 1e12, 1), std::nullopt);
  EXPECT_GT(outcome.grants.size(), 100u);
  EXPECT_GT(outcome.held, 100u) << "nobody was in anybody's way";
  EXPECT_EQ(outcome.unreachable, 0u);
}

TEST(GateFleet, NeverMoreThanRateTimesTimeAndBurst) {
  const FleetPolicy policy{.permits = 16,
                           .tokens_per_hour = 180'000,
                           .rate_per = RatePer::fleet,
                           .burst = 20,
                           .minimum_healthy_percent = 50};
  const Outcome outcome = run_fleet(policy, 5s);
  EXPECT_EQ(violation(outcome.grants, 16, policy.tokens_per_hour, policy.burst), std::nullopt);
  EXPECT_GT(outcome.grants.size(), 200u) << "50 a second for 5 s, and the burst";
  EXPECT_GT(outcome.no_tokens, 100u) << "there was enough for all";
  EXPECT_EQ(outcome.unreachable, 0u);
}

TEST(GateFleet, NeverFewerThanTheMinimumServe) {
  const FleetPolicy policy{.permits = 100, .rate_per = RatePer::unlimited, .minimum_healthy_percent = 99};
  const Outcome outcome = run_fleet(policy, 5s);
  EXPECT_EQ(violation(outcome.grants, 2 * fleet_size / 100, 1e12, 1), std::nullopt) << "1 % of 2,000 workers";
  EXPECT_GT(outcome.below_minimum, 100u) << "there was enough for all";
  EXPECT_GT(outcome.grants.size(), 100u);
  EXPECT_EQ(outcome.unreachable, 0u);
}

TEST(SeenGrants, TheCheckSeesWhatItIsThereFor) {
  const auto at = [](int ms) { return MonotonicTime(std::chrono::milliseconds(ms)); };
  const std::vector<SeenGrant> calm{{1'000'000, at(0), at(5)}, {2'000'000, at(5), at(9)}};
  EXPECT_EQ(violation(calm, 1, 3600, 1), std::nullopt);
  EXPECT_NE(violation({{1'000'000, at(0), at(6)}, {2'000'000, at(5), at(9)}}, 1, 3600, 1), std::nullopt);
  EXPECT_NE(violation({{1'000'000, at(0), at(5)}, {1'990'000, at(5), at(9)}}, 1, 3600, 1), std::nullopt);
  EXPECT_NE(violation({{1'000'000, at(0), at(5)}, {1'000'000, at(5), at(9)}}, 1, 3600, 2), std::nullopt);
}
}  // namespace
}  // namespace moult
