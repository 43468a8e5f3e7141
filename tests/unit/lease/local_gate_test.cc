// What only the local gate does; what every gate does is in tests/contract/gate_contract_test.cc.
#include "lease/local_gate.h"

#include <gtest/gtest.h>

#include <numeric>
#include <optional>

#include "base/machine.h"

namespace moult {
namespace {
using namespace std::chrono_literals;

std::uint64_t answers(const GateDescription& gate) {
  return std::accumulate(gate.answer_times.counts.begin(), gate.answer_times.counts.end(), std::uint64_t{0});
}

class LocalGateOnALoop : public testing::Test {
 protected:
  LocalGateOnALoop() {
    uv_loop_init(&loop);
    policy.tokens_per_hour = 1;
    policy.rate_per = RatePer::fleet;
  }
  ~LocalGateOnALoop() override {
    gate.reset();
    uv_run(&loop, UV_RUN_DEFAULT);
    EXPECT_EQ(uv_loop_close(&loop), 0) << "a handle was left behind";
  }
  void open() {
    gate.emplace(&loop, policy, "here", [this] { return capacity; });
  }
  Budget budget() { return {monotonic_now(&loop) + 1s}; }
  struct Question {
    std::optional<GateAnswer> answer;
    std::unique_ptr<Grant> grant;
    const Granted* granted() const { return answer ? std::get_if<Granted>(&*answer) : nullptr; }
    std::optional<Refusal> refused() const {
      if (!answer || !std::holds_alternative<Refused>(*answer)) return std::nullopt;
      return std::get<Refused>(*answer).why;
    }
  };
  std::unique_ptr<Question> ask(Urgency urgency = Urgency::routine) {
    auto question = std::make_unique<Question>();
    question->grant = gate->acquire(AskId{++operations}, urgency, budget(),
                                    [q = question.get()](const GateAnswer& answer) { q->answer = answer; });
    return question;
  }
  std::unique_ptr<Question> asked(Urgency urgency = Urgency::routine) {
    auto question = ask(urgency);
    turn();
    return question;
  }
  void turn() {
    uv_update_time(&loop);
    uv_run(&loop, UV_RUN_NOWAIT);
  }

  uv_loop_t loop;
  FleetPolicy policy;
  Capacity capacity{4, 4};
  std::optional<LocalGate> gate;
  std::uint64_t operations = 0;
};

TEST_F(LocalGateOnALoop, AnswersInTheLoopsNextTurn) {
  open();
  const auto question = ask();
  turn();
  EXPECT_TRUE(question->granted());
}

TEST_F(LocalGateOnALoop, ShowsItsLeaseWhileItIsHeld) {
  open();
  auto first = asked();
  ASSERT_TRUE(first->granted());
  EXPECT_TRUE(gate->describe().lease_held);
  first.reset();
  EXPECT_FALSE(gate->describe().lease_held);
}

TEST_F(LocalGateOnALoop, AQuestionThatIsDestroyedIsNeitherAnsweredNorGranted) {
  open();
  bool answered = false;
  auto grant = gate->acquire(AskId{1}, Urgency::routine, budget(), [&](const GateAnswer&) { answered = true; });
  grant.reset();
  turn();
  EXPECT_FALSE(answered);
  EXPECT_EQ(gate->describe().granted, 0u);
}

TEST_F(LocalGateOnALoop, UrgentOnesWaitForNoLeaseOfASiblingAndOverdrawFirst) {
  open();
  const auto routine = asked();
  const auto urgent = asked(Urgency::hard_limit);
  ASSERT_TRUE(urgent->granted());
  EXPECT_TRUE(urgent->granted()->gated);
  EXPECT_NEAR(gate->describe().tokens, 0, 0.01);
}

TEST_F(LocalGateOnALoop, WhatTheBucketNoLongerAffordsGoesAheadUngatedAndIsDebited) {
  open();
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(asked(Urgency::hard_limit)->granted()->gated) << i;
  const auto question = asked(Urgency::hard_limit);
  ASSERT_TRUE(question->granted());
  EXPECT_FALSE(question->granted()->gated);
  EXPECT_EQ(question->granted()->fencing_token, 0u);
  const GateDescription described = gate->describe();
  EXPECT_NEAR(described.tokens, -3, 0.01);
  EXPECT_EQ(described.ungated, 1u);
  EXPECT_EQ(described.granted, 4u);
  EXPECT_EQ(described.refusals[static_cast<std::size_t>(Refusal::no_tokens)], 1u);
}

TEST_F(LocalGateOnALoop, NothingGoesUngatedBelowTheInstancesOwnMinimum) {
  capacity = {4, 2};
  open();
  for (const Urgency urgency : {Urgency::routine, Urgency::hard_limit, Urgency::pressure})
    EXPECT_EQ(asked(urgency)->refused(), Refusal::below_minimum);
  EXPECT_EQ(gate->describe().granted, 0u);
}

TEST_F(LocalGateOnALoop, ThereIsNobodyToTakeLeaveOf) {
  open();
  bool gone = false;
  gate->leave(budget(), [&] { gone = true; });
  EXPECT_FALSE(gone) << "from inside";
  turn();
  EXPECT_TRUE(gone);
}

TEST_F(LocalGateOnALoop, TheCapacityIsThatOfTheMomentOfTheAnswer) {
  open();
  capacity = {4, 2};
  const auto question = ask();
  capacity = {4, 4};
  turn();
  EXPECT_TRUE(question->granted());
}

TEST(ReplacementCost, IsNothingWhereTheSuccessorServesFirst) {
  EXPECT_EQ(replacement_cost({4, 4, true}, Urgency::routine), 0u);
  EXPECT_EQ(replacement_cost({4, 4, false}, Urgency::routine), 1u);
  EXPECT_EQ(replacement_cost({4, 4, true}, Urgency::hard_limit), 1u);  // fork and RETIRE together
  EXPECT_EQ(replacement_cost({4, 1, false}, Urgency::pressure), 0u);   // the last one, whatever the headroom
  EXPECT_EQ(replacement_cost({4, 2, false}, Urgency::pressure), 1u);
}

TEST_F(LocalGateOnALoop, CountsHowLongEachAnswerTookWhateverItWas) {
  policy.burst = 1;
  open();
  EXPECT_EQ(answers(gate->describe()), 0u);
  { const auto granted = asked(); }
  const auto refused = asked();
  EXPECT_EQ(refused->refused(), Refusal::no_tokens);
  EXPECT_EQ(answers(gate->describe()), 2u);
}
}  // namespace
}  // namespace moult
