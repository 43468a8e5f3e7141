// What the parking decides while the app sleeps, in virtual time: the clocks stand still, and whoever speaks waits for
// the wake, not for us.
#include "tests/unit/connections/parking_steps.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class ParkingAsleepTest : public ParkingTest {
 protected:
  ParkingAsleepTest() { post(Sleeps{}); }
  void come(std::uint64_t id) { ASSERT_THAT(post(Came{{id}}), ElementsAre("take in " + std::to_string(id))); }
  void call(std::uint64_t id) {
    park(id);
    ASSERT_THAT(post(ClientSpoke{{id}}), IsEmpty());
  }
};

TEST_F(ParkingAsleepTest, TheClockOfTheSilentStandsStillAndStartsAnewAtTheWake) {
  park(1);
  EXPECT_EQ(next(), never);
  EXPECT_THAT(after(150s), IsEmpty()) << "twice its keep-alive";
  EXPECT_THAT(post(Wakes{}), IsEmpty());
  EXPECT_THAT(after(75s - 1ns), IsEmpty());
  EXPECT_THAT(after(1ns), ElementsAre("look again at 1"));
  EXPECT_THAT(post(ClientSilent{{1}}), ElementsAre("close 1"));
}

TEST_F(ParkingAsleepTest, ItStandsStillForThoseWhoWereParkedBeforeAndStartsAnewForThemToo) {
  post(Wakes{});
  park(1);
  now += 70s;
  post(Sleeps{});
  EXPECT_THAT(after(1h), IsEmpty());
  post(Wakes{});
  EXPECT_THAT(after(74s), IsEmpty());
  EXPECT_THAT(after(1s), ElementsAre("look again at 1"));
}

TEST_F(ParkingAsleepTest, OneWhoseTimeHadEndedBeforeTheSleepIsStillLookedAtOnlyOnce) {
  post(Wakes{});
  park(1);
  EXPECT_THAT(after(75s), ElementsAre("look again at 1"));
  EXPECT_THAT(post(Sleeps{}), IsEmpty());
  EXPECT_THAT(post(ClientSilent{{1}}), ElementsAre("close 1"));
}

TEST_F(ParkingAsleepTest, ACallerWaitsForAsLongAsTheWakeTakes) {
  call(1);
  EXPECT_EQ(next(), never) << "the budget is the idle core's";
  EXPECT_THAT(after(2h), IsEmpty());
  EXPECT_THAT(post(AdopterServes{{7}}), ElementsAre("offer 1 to worker 7"));
}

TEST_F(ParkingAsleepTest, HisPatienceStartsAnewAtTheWakeAndWhoeverCalledFirstStaysFirst) {
  call(1);
  now += 1min;
  call(2);
  now += 1h;
  EXPECT_THAT(post(Wakes{}), IsEmpty()) << "nobody adopts yet";
  EXPECT_EQ(next(), now + 30s);
  EXPECT_THAT(after(30s - 1ns), IsEmpty());
  EXPECT_THAT(after(1ns), ElementsAre("refuse 1"));
  EXPECT_THAT(post(AdopterServes{{7}}), ElementsAre("offer 2 to worker 7"));
}

TEST_F(ParkingAsleepTest, WhatWasOfferedBeforeTheSleepHasItsPatienceAnewToo) {
  post(Wakes{});
  post(AdopterServes{{7}});
  park(1);
  post(ClientSpoke{{1}});
  post(Sleeps{});
  now += 1h;
  post(Wakes{});
  EXPECT_THAT(post(AdopterGone{{7}}), IsEmpty());
  EXPECT_THAT(after(30s), ElementsAre("refuse 1"));
}

TEST_F(ParkingAsleepTest, WhoComesIsParkedAndDoesNotCallByThat) {
  come(1);
  EXPECT_EQ(state_of(1), ConnectionState::parked);
  EXPECT_TRUE(parking.callers.empty());
  EXPECT_EQ(parking.counts.accepted, 1u);
  EXPECT_EQ(parking.counts.parked, 0u);
  EXPECT_THAT(post(ClientSpoke{{1}}), IsEmpty());
  EXPECT_EQ(parking.callers.size(), 1u);
}

TEST_F(ParkingAsleepTest, WhoComesAndHangsUpIsClosed) {
  come(1);
  EXPECT_THAT(post(ClientHungUp{{1}}), ElementsAre("close 1"));
  EXPECT_TRUE(parking.connections.empty());
}

TEST_F(ParkingAsleepTest, WhoCameAndIsSilentIsKeptThroughTheSleepAndThenLikeOthers) {
  come(1);
  EXPECT_THAT(after(24h), IsEmpty());
  post(Wakes{});
  EXPECT_THAT(after(75s), ElementsAre("look again at 1"));
}

TEST_F(ParkingAsleepTest, OneThatCameAndCannotBeWatchedIsACallerForItBelongsToNobodyElse) {
  come(1);
  EXPECT_THAT(post(CannotWatch{{1}}), IsEmpty());
  EXPECT_EQ(parking.callers.size(), 1u);
  EXPECT_EQ(parking.counts.declined, 0u);
}

TEST_F(ParkingAsleepTest, ThereIsRoomForAsManyAsMayBeParked) {
  EXPECT_TRUE(has_room_for(parking, policy, 3));
  EXPECT_FALSE(has_room_for(parking, policy, 4));
  come(1);
  park(2);
  call(3);
  EXPECT_TRUE(has_room_for(parking, policy, 0));
  EXPECT_FALSE(has_room_for(parking, policy, 1));
  EXPECT_THAT(post(Arrived{{4}}), ElementsAre("turn away 4")) << "and a worker keeps what it has";
  post(ClientHungUp{{2}});
  EXPECT_TRUE(has_room_for(parking, policy, 1));
}

TEST_F(ParkingAsleepTest, WithRoomForOneThatOneCanWaitThroughASleep) {
  policy.most = 1;
  EXPECT_TRUE(has_room_for(parking, policy, 1));
  come(1);
  EXPECT_FALSE(has_room_for(parking, policy, 1));
  post(ClientSpoke{{1}});
  EXPECT_FALSE(has_room_for(parking, policy, 1)) << "a caller takes it still";
  post(AdopterServes{{7}});
  EXPECT_THAT(post(AdoptedBy{{1}, {7}}), ElementsAre("let go 1"));
  EXPECT_TRUE(has_room_for(parking, policy, 1));
}

TEST_F(ParkingAsleepTest, WhenAWakeHasFailedThoseWhoWaitAreRefusedAndToldWhenToComeAgain) {
  call(1);
  call(2);
  park(3);
  const auto step = transition(parking, RefuseUntil{now + 4s}, policy, now);
  ASSERT_EQ(step.actions.size(), 2u);
  for (const ParkingAction& each : step.actions) EXPECT_EQ(std::get<RefuseCaller>(each).come_again_in, 4s);
  EXPECT_THAT(post(RefuseUntil{now + 4s}), ElementsAre("refuse 1", "refuse 2"));
  EXPECT_EQ(parking.counts.refused, 2u);
  EXPECT_EQ(state_of(3), ConnectionState::parked) << "it has not spoken";
}

TEST_F(ParkingAsleepTest, WhoSpeaksInThatWindowIsRefusedAtOnceAndWhoeverSpeaksAfterItWaits) {
  park(1);
  park(2);
  EXPECT_THAT(post(RefuseUntil{now + 4s}), IsEmpty());
  EXPECT_EQ(next(), now + 4s) << "whoever waits outside is told of anew then";
  now += 4s - 1ns;
  EXPECT_THAT(post(ClientSpoke{{1}}), ElementsAre("refuse 1"));
  now += 1ns;
  EXPECT_THAT(post(ClientSpoke{{2}}), IsEmpty());
  EXPECT_EQ(next(), never);
}

TEST_F(ParkingAsleepTest, AWindowMayEndBeforeItsTime) {
  park(1);
  post(RefuseUntil{now + 30s});
  post(RefuseUntil{MonotonicTime::min()});
  EXPECT_THAT(post(ClientSpoke{{1}}), IsEmpty());
}

TEST_F(ParkingAsleepTest, TheWakeEndsTheWindow) {
  park(1);
  post(RefuseUntil{now + 30s});
  post(Wakes{});
  EXPECT_THAT(post(ClientSpoke{{1}}), IsEmpty());
}

TEST_F(ParkingAsleepTest, AWorkerThatServesTakesACallerAlsoInAWindow) {
  park(1);
  post(RefuseUntil{now + 30s});
  post(AdopterServes{{7}});
  EXPECT_THAT(post(ClientSpoke{{1}}), ElementsAre("offer 1 to worker 7"));
}

TEST_F(ParkingAsleepTest, WhenNobodyWillServeAnyMoreTheSleepIsOverToo) {
  park(1);
  come(2);
  call(3);
  EXPECT_THAT(post(ServiceEnds{}), ElementsAre("look again at 1", "look again at 2", "refuse 3"));
  EXPECT_THAT(post(ClientSilent{{1}}), ElementsAre("close 1"));
  EXPECT_THAT(post(ClientSpoke{{2}}), ElementsAre("refuse 2"));
}

TEST_F(ParkingAsleepTest, ToSleepOrToWakeTwiceChangesNothing) {
  post(Sleeps{});
  park(1);
  now += 1h;
  post(Wakes{});
  now += 60s;
  EXPECT_THAT(post(Wakes{}), IsEmpty());
  EXPECT_THAT(after(15s), ElementsAre("look again at 1")) << "its clock did not start once more";
}
}  // namespace
}  // namespace moult
