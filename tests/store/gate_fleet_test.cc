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
                Duration holds, std::vector<SeenGrant>& grants)
      : loop_(loop), random_{number}, holds_(holds), grants_(grants) {
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
      grant_ = gate_->acquire({asked_}, Urgency::routine, {now + patience},
                              [this](const GateAnswer& answer) { heard(answer); });
    }
  }
  bool resting() const { return !grant_; }
  std::uint64_t refused(Refusal why) const { return refusals_.at(static_cast<std::size_t>(why)); }

 private:
  void heard(const GateAnswer& answer) {
    const MonotonicTime now = loop_.now();
    if (const auto* granted = std::get_if<Granted>(&answer)) {
      token_ = granted->fencing_token;
      held_since_ = now;
      next_ = now + random_.up_to(holds_);
      return;
    }
    ++refusals_.at(static_cast<std::size_t>(std::get<Refused>(answer).why));
    grant_.reset();
    next_ = now + 50ms + random_.up_to(1s);
  }
  StoreLoop& loop_;
  Random random_;
  Duration holds_;  // at most
  std::vector<SeenGrant>& grants_;
  std::uint64_t asked_ = 0, token_ = 0;
  std::array<std::uint64_t, 5> refusals_{};
  std::optional<MonotonicTime> held_since_;
  MonotonicTime next_{};
  std::unique_ptr<RedisGate> gate_;
  std::unique_ptr<Grant> grant_;
};

struct Wanted {
  std::size_t grants;
  Refusal why;            // and enough_refusals of these: it is known that the fleet wanted more than it got
  Duration at_least{};    // for what happens every heartbeat_every
  Duration holds = 20ms;  // each grant, at most
};
constexpr std::uint64_t enough_refusals = 100;

// Until there were so many grants and refusals, however long a busy machine takes for them.
std::vector<SeenGrant> run_fleet(const FleetPolicy& policy, const Wanted& wanted) {
  const RedisServer store;
  StoreLoop loop;
  std::vector<SeenGrant> grants;
  std::vector<std::unique_ptr<EagerInstance>> fleet;
  for (std::size_t i = 0; i < fleet_size; ++i)
    fleet.push_back(std::make_unique<EagerInstance>(loop, store.socket(), policy, i, wanted.holds, grants));
  // All of them, but not in each of the loop's turns: the store needs the processor too.
  MonotonicTime next{};
  const auto turn = [&](bool asks, const std::function<bool()>& done) {
    const MonotonicTime now = loop.now();
    if (now < next) return false;
    next = now + 2ms;
    for (const auto& each : fleet) each->turn(now, asks);
    return done();
  };
  const MonotonicTime earliest = loop.now() + wanted.at_least;
  EXPECT_TRUE(loop.run_until([&] {
    return turn(true, [&] {
      std::uint64_t refused = 0;
      for (const auto& each : fleet) refused += each->refused(wanted.why);
      return grants.size() >= wanted.grants && refused >= enough_refusals && next >= earliest;
    });
  })) << grants.size()
      << " grants";
  EXPECT_TRUE(loop.run_until([&] {
    return turn(false, [&] { return std::ranges::all_of(fleet, [](const auto& each) { return each->resting(); }); });
  }));
  return grants;
}

TEST(GateFleet, OneAtATimeIsNeverTwo) {
  const FleetPolicy policy{.permits = 1, .rate_per = RatePer::unlimited, .minimum_healthy_percent = 50};
  EXPECT_EQ(violation(run_fleet(policy, {100, Refusal::lease_held}), 1, 1e12, 1), std::nullopt);
}

TEST(GateFleet, NeverMoreThanRateTimesTimeAndBurst) {
  const FleetPolicy policy{.permits = 16,
                           .tokens_per_hour = 180'000,
                           .rate_per = RatePer::fleet,
                           .burst = 20,
                           .minimum_healthy_percent = 50};
  EXPECT_EQ(
      violation(run_fleet(policy, {100, Refusal::no_tokens}), policy.permits, policy.tokens_per_hour, policy.burst),
      std::nullopt);
}

TEST(GateFleet, NeverFewerThanTheMinimumServe) {
  const FleetPolicy policy{.permits = 100, .rate_per = RatePer::unlimited, .minimum_healthy_percent = 99};
  EXPECT_EQ(violation(run_fleet(policy, {200, Refusal::below_minimum, heartbeat_every + 2s, 500ms}),
                      2 * fleet_size / 100, 1e12, 1),
            std::nullopt)
      << "1 % of 2,000 workers";
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
