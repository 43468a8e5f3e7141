#include "master/pool/generations.h"

#include <gmock/gmock.h>
namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::ElementsAre;

// What was done, as words: "load 2", "drop 1", ...
std::string word(const GenerationsAction& action) {
  const auto say = [](const char* verb, Generation g) { return std::string(verb) + " " + std::to_string(g.value); };
  return std::visit(Match{
                        [&](const Load& a) { return say("load", a.generation); },
                        [&](const Drop& a) { return say("drop", a.generation); },
                        [&](const AnnounceLoaded& a) { return say("loaded", a.generation); },
                        [&](const AnnounceLost& a) { return say("lost", a.generation); },
                        [&](const ReloadFailed& a) { return say("reload failed", a.generation); },
                        [&](const NothingLoads& a) { return say("give up", a.generation); },
                    },
                    action);
}

class GenerationsTest : public testing::Test {
 protected:
  std::vector<std::string> post(const GenerationsEvent& event) {
    auto step = transition(std::move(generations), event, policy, now);
    generations = std::move(step.state);
    std::vector<std::string> words;
    for (const auto& action : step.actions) words.push_back(word(action));
    return words;
  }
  void prove_first() {
    post(Reload{});
    post(Loaded{{1}});
    post(Proven{{1}});
  }
  Generations generations;
  GenerationsPolicy policy{{1s, 30s}, 10s, 5, BeforeReload::keep_the_old};
  MonotonicTime now{100s};
};

TEST_F(GenerationsTest, StartsByLoadingTheFirst) {
  EXPECT_THAT(post(Reload{}), ElementsAre("load 1"));
  EXPECT_THAT(post(Loaded{{1}}), ElementsAre("loaded 1"));
}

TEST_F(GenerationsTest, GivesUpWhenTheFirstDoesNotLoad) {
  post(Reload{});
  EXPECT_THAT(post(LoadFailed{{1}}), ElementsAre("give up 1"));
  EXPECT_THAT(post(Reload{}), ElementsAre());
}

TEST_F(GenerationsTest, DropsTheOldOneOnceTheNewOneIsProven) {
  prove_first();
  EXPECT_THAT(post(Reload{}), ElementsAre("load 2"));
  EXPECT_THAT(post(Loaded{{2}}), ElementsAre("loaded 2"));
  EXPECT_THAT(post(Proven{{2}}), ElementsAre("drop 1"));
}

TEST_F(GenerationsTest, ASecondReloadSupersedesTheLoadInHand) {
  prove_first();
  post(Reload{});
  EXPECT_THAT(post(Reload{}), ElementsAre("drop 2", "load 3"));
  EXPECT_THAT(post(Loaded{{2}}), ElementsAre());
  EXPECT_THAT(post(Loaded{{3}}), ElementsAre("loaded 3"));
}

TEST_F(GenerationsTest, AReloadThatDoesNotLoadLeavesTheOldOneAlone) {
  prove_first();
  post(Reload{});
  EXPECT_THAT(post(LoadFailed{{2}}), ElementsAre("reload failed 2"));
  EXPECT_EQ(next_deadline(generations, now), never);
}

TEST_F(GenerationsTest, ARejectedReloadIsDroppedAndTheOldOneKept) {
  prove_first();
  post(Reload{});
  post(Loaded{{2}});
  EXPECT_THAT(post(Rejected{{2}}), ElementsAre("drop 2", "reload failed 2"));
  EXPECT_THAT(generations.loaded, ElementsAre(Generation{1}));
}

TEST_F(GenerationsTest, ALostForkServerIsLoadedAnewAtOnceThenWithBackoff) {
  prove_first();
  now += 10s;  // it lived long enough
  EXPECT_THAT(post(Lost{{1}}), ElementsAre("drop 1", "lost 1", "load 2"));
  post(Loaded{{2}});
  post(Proven{{2}});
  EXPECT_THAT(post(Lost{{2}}), ElementsAre("drop 2", "lost 2"));
  const MonotonicTime retry = next_deadline(generations, now);
  EXPECT_GE(retry, now + 1s);
  EXPECT_LE(retry, now + 1100ms);
  now = retry - 1ms;
  EXPECT_THAT(post(TimePassed{}), ElementsAre());
  now = retry;
  EXPECT_THAT(post(TimePassed{}), ElementsAre("load 3"));
}

TEST_F(GenerationsTest, RepeatedLossesFallToTheFloorOfTheBackoff) {
  prove_first();
  int loads = 0;
  const MonotonicTime start = now;
  while (now < start + 1h) {
    for (const std::string& each : post(Lost{generations.newest})) loads += each.starts_with("load ");
    if (next_deadline(generations, now) != never) now = next_deadline(generations, now);
    for (const std::string& each : post(TimePassed{})) loads += each.starts_with("load ");
    post(Loaded{generations.newest});
    post(Proven{generations.newest});
    now += 1ms;
  }
  EXPECT_LE(loads, 2 * 60 + 6);  // one each 30 s, and the first ones that doubled up to it
  EXPECT_GE(loads, 3600 / 33);
}

TEST_F(GenerationsTest, TheBackoffIsForgottenAfterAForkServerLivedLongEnough) {
  prove_first();
  for (int i = 0; i < 3; ++i) {
    post(Lost{generations.newest});
    if (next_deadline(generations, now) != never) now = next_deadline(generations, now);
    post(TimePassed{});
    post(Loaded{generations.newest});
  }
  now += 10s - 1ms;
  Generations shortly_before = generations;
  post(Lost{generations.newest});
  EXPECT_EQ(generations.state, LoadState::waiting);
  generations = shortly_before;
  now += 1ms;
  post(Lost{generations.newest});
  EXPECT_EQ(generations.state, LoadState::loading);
}

TEST_F(GenerationsTest, ALostCandidateBesideAProvenOneIsAFailedReload) {
  prove_first();
  post(Reload{});
  post(Loaded{{2}});
  EXPECT_THAT(post(Lost{{2}}), ElementsAre("drop 2", "lost 2", "reload failed 2"));
  EXPECT_EQ(generations.state, LoadState::resting);
}

TEST_F(GenerationsTest, ARecoveryThatDoesNotLoadIsTriedAgainAndAReloadDoesNotWaitForIt) {
  prove_first();
  now += 10s;
  post(Lost{{1}});
  EXPECT_THAT(post(LoadFailed{{2}}), ElementsAre("reload failed 2"));
  EXPECT_EQ(generations.state, LoadState::waiting);
  EXPECT_THAT(post(Reload{}), ElementsAre("load 3"));
}

TEST_F(GenerationsTest, GivesUpWhenForkServersDieBeforeAnyWorkerServed) {
  post(Reload{});
  std::vector<std::string> last;
  for (unsigned i = 0; i < policy.first_attempts; ++i) {
    post(Loaded{generations.newest});
    last = post(Lost{generations.newest});
    now += 1min;
    post(TimePassed{});
    EXPECT_NE(generations.state, LoadState::ceased) << i;
  }
  post(Loaded{generations.newest});
  last = post(Lost{generations.newest});
  EXPECT_EQ(generations.state, LoadState::ceased);
  EXPECT_EQ(last.back(), "give up 6");
}

TEST_F(GenerationsTest, WithLittleMemoryTheOldOneGoesFirst) {
  policy.before_reload = BeforeReload::drop_the_old;
  prove_first();
  EXPECT_THAT(post(Reload{}), ElementsAre("drop 1", "lost 1", "load 2"));
}

TEST_F(GenerationsTest, WhatIsLetGoIsLoadedAnewWhenItIsNeeded) {
  prove_first();
  EXPECT_THAT(post(DropAll{}), ElementsAre("drop 1", "lost 1"));
  EXPECT_EQ(next_deadline(generations, now), never);
  EXPECT_THAT(post(TimePassed{}), ElementsAre());
  EXPECT_THAT(post(Needed{}), ElementsAre("load 2"));
  EXPECT_THAT(post(Needed{}), ElementsAre()) << "it loads already";
  EXPECT_THAT(post(Loaded{{2}}), ElementsAre("loaded 2"));
  EXPECT_THAT(post(Needed{}), ElementsAre()) << "it can be forked from";
}

TEST_F(GenerationsTest, CodeThatNeverServedIsNotLetGo) {
  post(Reload{});
  EXPECT_THAT(post(DropAll{}), ElementsAre());
  post(Loaded{{1}});
  EXPECT_THAT(post(DropAll{}), ElementsAre());
}

TEST_F(GenerationsTest, ANewerOneThatHasNotServedYetIsLetGoWithTheOld) {
  prove_first();
  post(Reload{});
  post(Loaded{{2}});
  EXPECT_THAT(post(DropAll{}), ElementsAre("drop 1", "lost 1", "drop 2", "lost 2"));
}

TEST_F(GenerationsTest, ALoadInHandThatIsLetGoIsAFailedReload) {
  prove_first();
  post(Reload{});
  EXPECT_THAT(post(DropAll{}), ElementsAre("drop 2", "reload failed 2", "drop 1", "lost 1"));
  EXPECT_THAT(post(Loaded{{2}}), ElementsAre());
}

TEST_F(GenerationsTest, AWakeThatDoesNotLoadIsTriedAgainUntilTheAppSleeps) {
  prove_first();
  post(DropAll{});
  post(Needed{});
  EXPECT_THAT(post(LoadFailed{{2}}), ElementsAre("reload failed 2"));
  now = next_deadline(generations, now);
  EXPECT_THAT(post(TimePassed{}), ElementsAre("load 3"));
  post(NotNeeded{});
  EXPECT_THAT(post(LoadFailed{{3}}), ElementsAre("reload failed 3"));
  EXPECT_EQ(next_deadline(generations, now), never);
  EXPECT_THAT(post(Needed{}), ElementsAre("load 4"));
}

TEST_F(GenerationsTest, OneThatFallsAsleepBacksOffNoMore) {
  prove_first();
  post(DropAll{});
  post(Needed{});
  post(LoadFailed{{2}});
  post(NotNeeded{});
  EXPECT_EQ(next_deadline(generations, now), never);
  EXPECT_THAT(post(Needed{}), ElementsAre("load 3")) << "a wake does not wait for the back-off of the one before";
}

TEST_F(GenerationsTest, AReloadLoadsAlsoWhatWasLetGoAndItsFailureRests) {
  prove_first();
  post(DropAll{});
  EXPECT_THAT(post(Reload{}), ElementsAre("load 2"));
  EXPECT_THAT(post(LoadFailed{{2}}), ElementsAre("reload failed 2"));
  EXPECT_EQ(next_deadline(generations, now), never);
}

TEST_F(GenerationsTest, CeaseDropsEverythingForGood) {
  prove_first();
  post(Reload{});
  EXPECT_THAT(post(Cease{}), ElementsAre("drop 2", "drop 1"));
  EXPECT_THAT(post(Reload{}), ElementsAre());
}
}  // namespace
}  // namespace moult
