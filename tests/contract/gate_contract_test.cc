// One suite for every gate that a master may ask: in its own process, in a store, and with a fallback in front of that.
#include <gtest/gtest.h>

#include <algorithm>

#include "lease/local_gate.h"
#include "tests/store/gate_on_redis.h"

namespace moult {
namespace {
using namespace std::chrono_literals;

struct GateForm {
  std::string name;
  std::function<std::unique_ptr<Gate>(uv_loop_t*, RedisGateOptions, std::function<Capacity()>)> make;
};
const GateForm forms[] = {
    {"Local",
     [](uv_loop_t* loop, RedisGateOptions options, auto capacity) {
       return std::make_unique<LocalGate>(loop, options.policy, options.instance, capacity);
     }},
    {"Redis", [](uv_loop_t* loop, RedisGateOptions options,
                 auto capacity) { return std::make_unique<RedisGate>(loop, std::move(options), capacity); }},
    {"Fallback", [](uv_loop_t* loop, RedisGateOptions options, auto capacity) {
       return std::make_unique<FallbackGate>(loop, FallbackOptions{std::move(options), 100ms}, capacity);
     }}};

class GateContract : public testing::TestWithParam<GateForm> {
 protected:
  GateContract() { RedisClient(server().socket()).ask({"FLUSHALL"}); }
  static RedisServer& server() {
    static RedisServer one;
    return one;
  }
  void open() {
    RedisOptions to = over_unix(server().socket());
    to.seed = 1;
    gate = GetParam().make(loop.get(), {to, "shop", "here", policy}, [this] { return capacity; });
  }
  std::unique_ptr<Question> ask(Urgency urgency = Urgency::routine, Duration budget = patience) {
    auto question = std::make_unique<Question>();
    question->grant =
        gate->acquire(AskId{++operations}, urgency, loop.budget(budget), [q = question.get()](const GateAnswer& said) {
          EXPECT_FALSE(q->answer) << "answered twice";
          q->answer = said;
        });
    EXPECT_FALSE(question->answer) << "answered from inside the question";
    return question;
  }
  std::unique_ptr<Question> asked(Urgency urgency = Urgency::routine, Duration budget = patience) {
    auto question = ask(urgency, budget);
    EXPECT_TRUE(loop.run_until([&] { return question->answer.has_value(); }));
    return question;
  }

  StoreLoop loop;
  FleetPolicy policy{1, 120s, 1, RatePer::fleet, 2, 50};
  Capacity capacity{4, 4};
  std::unique_ptr<Gate> gate;
  std::uint64_t operations = 0;
};
INSTANTIATE_TEST_SUITE_P(Gate, GateContract, testing::ValuesIn(forms),
                         [](const auto& form) { return form.param.name; });

TEST_P(GateContract, AnswersLaterAndNeverFromInsideTheQuestion) {
  open();
  const auto question = asked();
  ASSERT_TRUE(question->granted());
  EXPECT_TRUE(question->granted()->gated);
  EXPECT_GT(question->granted()->fencing_token, 0u);
}

TEST_P(GateContract, AGrantThatIsDestroyedIsReleased) {
  open();
  auto first = asked();
  ASSERT_TRUE(first->granted());
  EXPECT_EQ(asked()->refused(), Refusal::lease_held);
  first.reset();
  EXPECT_TRUE(asked()->granted());
}

TEST_P(GateContract, AQuestionThatIsDestroyedIsNotAnsweredAndTakesNeitherLeaseNorToken) {
  open();
  bool answered = false;
  auto given_up =
      gate->acquire(AskId{99}, Urgency::routine, loop.budget(1s), [&](const GateAnswer&) { answered = true; });
  given_up.reset();
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(asked()->granted()) << "both tokens are there";
  EXPECT_FALSE(answered);
}

TEST_P(GateContract, AnAnswerMayDestroyItsOwnGrant) {
  open();
  std::unique_ptr<Grant> grant;
  bool answered = false;
  grant = gate->acquire(AskId{99}, Urgency::routine, loop.budget(patience), [&](const GateAnswer&) {
    answered = true;
    grant.reset();
  });
  EXPECT_TRUE(loop.run_until([&] { return answered; }));
  EXPECT_TRUE(asked()->granted());
}

TEST_P(GateContract, AQuestionWhoseBudgetIsSpentIsLate) {
  open();
  for (const Urgency urgency : {Urgency::routine, Urgency::hard_limit})
    EXPECT_EQ(asked(urgency, 0s)->refused(), Refusal::late);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(asked()->granted()) << "and took nothing";
}

// On a busy machine the loop itself may stand still for longer than a lease lives; such a round proves nothing.
TEST_P(GateContract, AHeldLeaseIsRenewedAndOutlivesItsTimeToLive) {
  policy.ttl = 150ms;  // shorter than check() allows, so that the test need not wait
  policy.rate_per = RatePer::unlimited;
  open();
  for (int round = 0; round < 20; ++round) {
    const auto held = asked();
    ASSERT_TRUE(held->granted());
    MonotonicTime last = loop.now();
    Duration longest_gap{};
    const MonotonicTime end = last + 3 * policy.ttl;
    loop.run_until([&] {
      longest_gap = std::max(longest_gap, loop.now() - last);
      last = loop.now();
      return last >= end;
    });
    const auto other = asked();
    if (longest_gap >= policy.ttl / 2) continue;
    EXPECT_EQ(other->refused(), Refusal::lease_held);
    return;
  }
  GTEST_SKIP() << "this machine is too busy";
}

TEST_P(GateContract, UrgentOnesWaitForNoLeaseOfASiblingAndOverdraw) {
  open();
  const auto routine = asked();
  for (int i = 0; i < 3; ++i) {
    const auto urgent = asked(Urgency::hard_limit);
    ASSERT_TRUE(urgent->granted());
    EXPECT_TRUE(urgent->granted()->gated) << i;
  }
}

TEST_P(GateContract, NothingIsGrantedBelowTheMinimum) {
  capacity = {4, 2};
  open();
  for (const Urgency urgency : {Urgency::routine, Urgency::hard_limit, Urgency::pressure})
    EXPECT_EQ(asked(urgency)->refused(), Refusal::below_minimum);
}

TEST_P(GateContract, ARoutineQuestionWithoutATokenIsRefusedWithAHint) {
  open();
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(asked()->granted());
  const auto question = asked();
  ASSERT_EQ(question->refused(), Refusal::no_tokens);
  EXPECT_GT(std::get<Refused>(*question->answer).retry_after, 59min);
}

TEST_P(GateContract, AGrantMayOutliveItsGateAndAQuestionThatDoesIsNotAnswered) {
  open();
  const auto held = asked();
  const auto waiting = ask();
  gate.reset();
  loop.run_for(50ms);
  EXPECT_FALSE(waiting->answer);
}
}  // namespace
}  // namespace moult
