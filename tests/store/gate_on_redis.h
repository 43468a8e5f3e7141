#pragma once
// Gates of a fleet on a real redis-server, all on one loop; and their questions.
#include <memory>
#include <optional>
#include <string>

#include "lease/fallback_gate.h"
#include "lease/redis_gate.h"
#include "tests/contract/stored_ledger.h"
#include "tests/store/store_loop.h"
namespace moult {
struct Question {
  std::optional<GateAnswer> answer;
  MonotonicTime asked_at{}, answered_at{};
  std::unique_ptr<Grant> grant;
  const Granted* granted() const { return answer ? std::get_if<Granted>(&*answer) : nullptr; }
  std::optional<Refusal> refused() const {
    if (!answer || !std::holds_alternative<Refused>(*answer)) return std::nullopt;
    return std::get<Refused>(*answer).why;
  }
  Duration took() const { return answered_at - asked_at; }
};

class GatesOnRedis : public testing::Test {
 protected:
  explicit GatesOnRedis(std::vector<std::string> more = {}) : server(std::move(more)) {}
  RedisGateOptions options(const std::string& instance) {
    RedisOptions to = over_unix(store);
    to.seed = ++seed;
    return {to, "shop", instance, policy};
  }
  std::unique_ptr<RedisGate> gate(const std::string& instance) {
    return std::make_unique<RedisGate>(loop.get(), options(instance), [this] { return capacity; });
  }
  std::unique_ptr<Question> ask(Gate& of, Urgency urgency = Urgency::routine, Duration budget = patience) {
    auto question = std::make_unique<Question>();
    question->asked_at = loop.now();
    question->grant = of.acquire(AskId{1}, urgency, loop.budget(budget), [this, q = question.get()](GateAnswer said) {
      EXPECT_FALSE(q->answer) << "answered twice";
      q->answer = said;
      q->answered_at = loop.now();
    });
    EXPECT_FALSE(question->answer) << "answered from inside the question";
    return question;
  }
  std::unique_ptr<Question> asked(Gate& of, Urgency urgency = Urgency::routine, Duration budget = patience) {
    auto question = ask(of, urgency, budget);
    EXPECT_TRUE(loop.run_until([&] { return question->answer.has_value(); }));
    return question;
  }
  template <class AGate>
  Result<FleetView> look(AGate& of) {
    std::optional<Result<FleetView>> seen;
    const auto call = of.look(loop.budget(patience), [&](Result<FleetView> view) { seen.emplace(std::move(view)); });
    EXPECT_TRUE(loop.run_until([&] { return seen.has_value(); }));
    return *seen;
  }
  // As the store has it, asked by another client.
  Ledger stored() {
    RedisClient client(store);
    ask_for_stored_ledger(client, "shop");
    return receive_stored_ledger(client).ledger;
  }
  bool comes_true(const std::function<bool()>& what) { return loop.run_until(what); }
  RedisReply redis(const std::vector<std::string>& words) { return RedisClient(store).ask(words); }

  RedisServer server;
  std::string store = server.socket();  // where the gates find it
  StoreLoop loop;
  FleetPolicy policy{1, std::chrono::seconds(120), 1, RatePer::fleet, 2, 50};
  Capacity capacity{4, 4};
  std::uint64_t seed = 0;
};
}  // namespace moult
