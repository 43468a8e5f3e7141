// The reply is lost between the store and us, a thousand times: the question was carried out, and is asked again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lease/ledger_script.h"
#include "lease/redis_gate.h"
#include "tests/contract/redis_server.h"
#include "tests/store/go_between.h"
#include "tests/store/store_loop.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

TEST(GateCut, AConnectionCutBetweenExecutionAndReplyGivesOneLeaseAndTakesOneTokenEachTime) {
  constexpr int times = 1000;
  const RedisServer store;
  RedisClient beside(store.socket());
  std::atomic<int> cuts = 0;
  std::atomic<bool> cut = false;
  const GoBetween between({.store = store.socket(), .cut = [&](std::string_view call) {
                             const bool now =
                                 call.find("\r\nacquire\r\n") != std::string_view::npos && cut.exchange(false);
                             return cuts += now, now;
                           }});
  StoreLoop loop;
  const FleetPolicy policy{
      .permits = 2, .tokens_per_hour = 1e-6, .rate_per = RatePer::fleet, .burst = times, .minimum_healthy_percent = 0};
  RedisGate gate(loop.get(), {over_tcp(between.port()), "cut", "here", policy}, [] { return Capacity{4, 4}; });
  const auto keys = ledger_keys("cut");
  std::uint64_t last = 0;
  for (int i = 1; i <= times; ++i) {
    cut = true;
    std::optional<GateAnswer> answer;
    auto grant = gate.acquire({1}, Urgency::routine, loop.budget(5s), [&](const GateAnswer& said) { answer = said; });
    ASSERT_TRUE(loop.run_until([&] { return answer.has_value(); }));
    ASSERT_TRUE(std::holds_alternative<Granted>(*answer)) << i;
    EXPECT_GT(std::get<Granted>(*answer).fencing_token, last);
    last = std::get<Granted>(*answer).fencing_token;
    EXPECT_EQ(*beside.ask({"HLEN", keys.at(1)}).as<std::int64_t>(), 1) << "one lease";
    const double credit = std::stod(*beside.ask({"HGET", keys.at(0), "credit"}).as<std::string>());
    EXPECT_NEAR(credit / credit_per_token, times - i, 1e-3) << "one token";
    grant.reset();
    ASSERT_TRUE(loop.run_until([&] { return *beside.ask({"HLEN", keys.at(1)}).as<std::int64_t>() == 0; }));
  }
  EXPECT_EQ(cuts, times);
}
}  // namespace
}  // namespace moult
