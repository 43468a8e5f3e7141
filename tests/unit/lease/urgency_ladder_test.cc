// The ladder in virtual time: how long a store is asked, and what then.
#include "lease/urgency_ladder.h"

#include <gtest/gtest.h>

#include <optional>

namespace moult {
namespace {
using namespace std::chrono_literals;

class UrgencyLadder : public testing::Test {
 protected:
  void begin(Urgency urgency, Duration budget = 60s) {
    take(moult::begin(urgency, {now + budget}, policy, now, random));
  }
  void store_says(GateAnswer said) {
    asked.reset();
    take(transition(ladder, StoreAnswered{said}, now));
  }
  void store_refuses(Refusal why, Duration hint = 200ms) { store_says(Refused{why, hint}); }
  // Until the ladder next does something, or the store's time to answer is over.
  void wait() {
    if (asked) {
      now = asked->end;
      return store_refuses(Refusal::store_unreachable);
    }
    ASSERT_NE(next_deadline(ladder), never) << "it would wait for ever";
    now = next_deadline(ladder);
    take(transition(ladder, TimePassed{}, now));
  }
  void take(LadderStep step) {
    ladder = step.state;
    ASSERT_LE(step.actions.size(), 1u);
    for (const LadderAction& action : step.actions) {
      if (const auto* ask = std::get_if<AskStore>(&action)) asked = ask->budget, ++askings;
      if (const auto* said = std::get_if<AnswerPool>(&action)) answer = said->answer;
      if (const auto* ahead = std::get_if<GoUngated>(&action)) ungated_at = now, in_spite_of = ahead->in_spite_of;
      if (const auto* wait = std::get_if<TellWait>(&action)) told = *wait;
    }
    ASSERT_EQ(ladder.rung == Ladder::Rung::over, answer || ungated_at);
  }
  std::optional<Refusal> refused() const {
    return answer && std::holds_alternative<Refused>(*answer) ? std::optional(std::get<Refused>(*answer).why)
                                                              : std::nullopt;
  }

  const MonotonicTime start{1000s};
  MonotonicTime now = start;
  LadderPolicy policy{2s};
  Random random{1};
  Ladder ladder;
  std::optional<Budget> asked;
  std::optional<GateAnswer> answer;
  std::optional<MonotonicTime> ungated_at;
  std::optional<Refusal> in_spite_of;
  std::optional<TellWait> told;
  int askings = 0;
};

TEST_F(UrgencyLadder, ARoutineQuestionIsAskedOnceAndForFiveSeconds) {
  begin(Urgency::routine);
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->end, start + 5s);
  wait();
  EXPECT_EQ(refused(), Refusal::store_unreachable);
  EXPECT_EQ(askings, 1);
}

TEST_F(UrgencyLadder, ARoutineQuestionTakesWhateverComes) {
  for (const Refusal why : {Refusal::lease_held, Refusal::no_tokens, Refusal::below_minimum, Refusal::late}) {
    answer.reset();
    begin(Urgency::routine);
    store_refuses(why);
    EXPECT_EQ(refused(), why);
  }
}

TEST_F(UrgencyLadder, NoQuestionOutlivesItsBudget) {
  begin(Urgency::routine, 1s);
  EXPECT_EQ(asked->end, start + 1s);
  begin(Urgency::pressure, 1s);
  EXPECT_EQ(asked->end, start + 1s);
  wait();
  EXPECT_EQ(ungated_at, start + 1s);
}

TEST_F(UrgencyLadder, AGrantIsTheAnswer) {
  begin(Urgency::hard_limit);
  store_says(Granted{17, true, {}});
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<Granted>(*answer).fencing_token, 17u);
}

TEST_F(UrgencyLadder, AStoreThatIsAwayIsWaitedForAndThenAJitterAndThenItGoesUngated) {
  Duration least = 1h, most{};
  for (int i = 0; i < 1000; ++i) {
    now = start;
    ungated_at.reset();
    begin(Urgency::hard_limit);
    while (!ungated_at) wait();
    least = std::min(least, *ungated_at - start);
    most = std::max(most, *ungated_at - start);
  }
  EXPECT_GE(least, 2s);
  EXPECT_LT(least, 2s + 20ms);  // of a thousand, one is as quick
  EXPECT_LT(most, 4s);
  EXPECT_GT(most, 4s - 20ms);
}

TEST_F(UrgencyLadder, AStoreThatRefusesAtOnceIsAskedAgainByItsHints) {
  begin(Urgency::pressure);
  const Duration patience = asked->end - start;
  while (!ungated_at) {
    if (asked) store_refuses(Refusal::store_unreachable, 200ms);
    else wait();
  }
  EXPECT_EQ(*ungated_at - start, patience);
  EXPECT_EQ(askings, (patience + 199'999'999ns) / 200ms);
}

TEST_F(UrgencyLadder, ALeaseThatIsGivenBackMeanwhileIsTaken) {
  begin(Urgency::hard_limit);
  store_refuses(Refusal::lease_held);
  wait();
  EXPECT_EQ(now, start + 200ms);
  ASSERT_TRUE(asked);
  store_says(Granted{17, true, {}});
  EXPECT_TRUE(answer && std::holds_alternative<Granted>(*answer));
}

TEST_F(UrgencyLadder, TokensThatCannotComeInTimeAreNotWaitedForButTheJitterIs) {
  begin(Urgency::hard_limit);
  store_refuses(Refusal::no_tokens, 20min);
  EXPECT_FALSE(ungated_at);
  wait();
  ASSERT_TRUE(ungated_at);
  EXPECT_EQ(*ungated_at - start, ladder.jitter);
  EXPECT_EQ(askings, 1);
}

TEST_F(UrgencyLadder, TokensThatComeInTimeAreWaitedFor) {
  begin(Urgency::hard_limit);
  store_refuses(Refusal::no_tokens, 1s);
  wait();
  EXPECT_EQ(now, start + 1s);
  EXPECT_TRUE(asked);
}

TEST_F(UrgencyLadder, AHintIsWaitedForOnlyIfItFits) {
  begin(Urgency::hard_limit);
  const MonotonicTime end = asked->end;
  now = end - 200ms;
  store_refuses(Refusal::lease_held, 200ms);
  EXPECT_EQ(ladder.rung, Ladder::Rung::jittering);
  EXPECT_EQ(next_deadline(ladder), end);
  begin(Urgency::hard_limit);
  now = asked->end - 200ms - 1ns;
  store_refuses(Refusal::lease_held, 200ms);
  EXPECT_EQ(ladder.rung, Ladder::Rung::pausing);
}

TEST_F(UrgencyLadder, TheMinimumIsTheAnswerAtOnce) {
  begin(Urgency::pressure);
  store_refuses(Refusal::below_minimum);
  EXPECT_EQ(refused(), Refusal::below_minimum);
}

TEST_F(UrgencyLadder, WhatWasAskedTooLateGoesNowhere) {
  begin(Urgency::pressure, 0s);
  store_refuses(Refusal::late);
  EXPECT_EQ(refused(), Refusal::late);
}

TEST_F(UrgencyLadder, WithoutAWaitItGoesAtOnce) {
  policy.urgent_wait = 0s;
  begin(Urgency::hard_limit);
  wait();
  EXPECT_EQ(ungated_at, start);
}

TEST_F(UrgencyLadder, AnAnswerThatIsLateIsAStoreThatIsAwayAndIsToldOnce) {
  for (const Urgency urgency : {Urgency::routine, Urgency::hard_limit, Urgency::pressure}) {
    now = start;
    told.reset();
    begin(urgency);
    EXPECT_EQ(next_deadline(ladder), start + answer_is_late);
    now = start + answer_is_late - 1ns;
    take(transition(ladder, TimePassed{}, now));
    EXPECT_FALSE(told) << "a store that is well may need so long";
    now = start + answer_is_late;
    take(transition(ladder, TimePassed{}, now));
    ASSERT_TRUE(told);
    EXPECT_EQ(told->why, Refusal::store_unreachable);
    EXPECT_EQ(told->until, asked->end);
    EXPECT_EQ(next_deadline(ladder), never);
  }
}

TEST_F(UrgencyLadder, WhatAnUrgentOneIsRefusedForIsWhatItWaitsForAndThenGoesInSpiteOf) {
  begin(Urgency::hard_limit);
  const MonotonicTime end = asked->end;
  store_refuses(Refusal::lease_held);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->why, Refusal::lease_held);
  EXPECT_EQ(told->until, end);
  wait();
  store_refuses(Refusal::no_tokens, 20min);
  EXPECT_EQ(told->why, Refusal::no_tokens);
  EXPECT_EQ(told->until, next_deadline(ladder)) << "the jitter";
  wait();
  EXPECT_EQ(in_spite_of, Refusal::no_tokens);
}

TEST_F(UrgencyLadder, AStoreThatNeverAnswersIsWhatItGoesInSpiteOf) {
  begin(Urgency::hard_limit);
  wait();
  EXPECT_EQ(in_spite_of, Refusal::store_unreachable);
}

TEST_F(UrgencyLadder, WhatComesAfterTheAnswerIsNotHeard) {
  begin(Urgency::routine);
  store_says(Granted{17, true, {}});
  const LadderStep late = transition(ladder, StoreAnswered{Refused{Refusal::late, 0s}}, now);
  EXPECT_TRUE(late.actions.empty());
  EXPECT_TRUE(transition(ladder, TimePassed{}, now).actions.empty());
}
}  // namespace
}  // namespace moult
