#include "master/sleep/saved_state.h"

#include <gtest/gtest.h>
namespace moult {
namespace {
TEST(SavedState, ActiveStaysActiveAndAsleepStaysAsleep) {
  EXPECT_EQ(state_from_saved(saved_text(IdleState::active)), IdleState::active);
  EXPECT_EQ(state_from_saved(saved_text(IdleState::asleep)), IdleState::asleep);
}

TEST(SavedState, StoppingAndWakingFoldToAsleep) {
  EXPECT_EQ(saved_text(IdleState::stopping), "stopping\n");
  EXPECT_EQ(saved_text(IdleState::waking), "waking\n");
  EXPECT_EQ(state_from_saved("stopping\n"), IdleState::asleep);
  EXPECT_EQ(state_from_saved("waking\n"), IdleState::asleep);
}

TEST(SavedState, UnknownAndEmptyMeanActive) {
  for (const auto* text : {"", "\n", "dozing\n", "ASLEEP\n", "asleep asleep\n", " asleep\n", "asleep\r\n", "asleep 2\n",
                           "asleep\n\n", "asleep\nactive\n"})
    EXPECT_EQ(state_from_saved(text), IdleState::active) << text;
  EXPECT_EQ(state_from_saved(std::string_view("asleep\n\0", 8)), IdleState::active);
}

TEST(SavedState, TornAtAnyLetterMeansActive) {
  for (const IdleState each : {IdleState::stopping, IdleState::asleep, IdleState::waking}) {
    const std::string whole = saved_text(each);
    for (std::size_t length = 0; length < whole.size(); ++length)
      EXPECT_EQ(state_from_saved(whole.substr(0, length)), IdleState::active) << whole << length;
  }
}
}  // namespace
}  // namespace moult
