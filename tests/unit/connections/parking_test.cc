// What the parking decides, in virtual time: each connection that arrived ends once, and nobody is told of one that
// somebody else may have.
#include "tests/unit/connections/parking_steps.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(ParkingTest, AClientThatSpeaksIsOfferedToAWorkerAndLetGoWhenThatOneHasIt) {
  post(AdopterServes{{7}});
  park(1);
  EXPECT_THAT(post(ClientSpoke{{1}}), ElementsAre("offer 1 to worker 7"));
  EXPECT_EQ(state_of(1), ConnectionState::offered);
  EXPECT_EQ(next(), never) << "an offer has no end of its own";
  EXPECT_THAT(post(AdoptedBy{{1}, {7}}), ElementsAre("let go 1"));
  EXPECT_TRUE(parking.connections.empty());
  EXPECT_EQ(parking.counts.given, 1u);
}

TEST_F(ParkingTest, TheLastPlaceIsTakenAndTheNextIsTurnedAway) {
  park(1);
  park(2);
  park(3);
  EXPECT_THAT(post(Arrived{{4}}), ElementsAre("turn away 4"));
  EXPECT_EQ(parking.connections.size(), 3u);
  EXPECT_EQ(parking.counts.declined, 1u);
  post(ClientHungUp{{2}});
  park(5);
}

TEST_F(ParkingTest, OneThatIsOfferedStillTakesItsPlace) {
  policy.most = 1;
  post(AdopterServes{{7}});
  park(1);
  post(ClientSpoke{{1}});
  EXPECT_THAT(post(Arrived{{2}}), ElementsAre("turn away 2"));
  post(AdoptedBy{{1}, {7}});
  park(3);
}

TEST_F(ParkingTest, WithoutAPlaceNobodyIsTakenIn) {
  policy.most = 0;
  EXPECT_THAT(post(Arrived{{1}}), ElementsAre("turn away 1"));
}

TEST_F(ParkingTest, OneThatCannotBeWatchedStaysItsWorkers) {
  park(1);
  EXPECT_THAT(post(CannotWatch{{1}}), ElementsAre("turn away 1"));
  EXPECT_EQ(parking.counts.parked, 0u);
  EXPECT_EQ(parking.counts.declined, 1u);
}

TEST_F(ParkingTest, AClientThatHangsUpIsClosed) {
  park(1);
  EXPECT_THAT(post(ClientHungUp{{1}}), ElementsAre("close 1"));
  EXPECT_EQ(parking.counts.closed_by_client, 1u);
}

TEST_F(ParkingTest, ASilentClientIsClosedWhenItsKeepAliveIsOver) {
  park(1);
  EXPECT_EQ(next(), now + 75s);
  EXPECT_THAT(after(75s - 1ns), IsEmpty());
  EXPECT_THAT(after(1ns), ElementsAre("look again at 1"));
  EXPECT_THAT(post(ClientSilent{{1}}), ElementsAre("close 1"));
  EXPECT_EQ(parking.counts.timed_out, 1u);
}

TEST_F(ParkingTest, AClientThatSpokeInTheInstantOfItsEndIsServed) {
  post(AdopterServes{{7}});
  park(1);
  EXPECT_THAT(after(75s), ElementsAre("look again at 1"));
  EXPECT_THAT(post(ClientSpoke{{1}}), ElementsAre("offer 1 to worker 7"));
  park(2);
  now += 75s;
  EXPECT_THAT(post(ClientSpoke{{2}}), ElementsAre("offer 2 to worker 7")) << "whether or not its time was told first";
}

TEST_F(ParkingTest, AClientThatHungUpInTheInstantOfItsEndWasNotTimedOut) {
  park(1);
  after(75s);
  EXPECT_THAT(post(ClientHungUp{{1}}), ElementsAre("close 1"));
  EXPECT_EQ(parking.counts.closed_by_client, 1u);
  EXPECT_EQ(parking.counts.timed_out, 0u);
}

TEST_F(ParkingTest, WhoeverCalledFirstIsFirstWhenAWorkerServes) {
  park(1);
  park(2);
  EXPECT_THAT(post(ClientSpoke{{2}}), IsEmpty());
  now += 1s;
  EXPECT_THAT(post(ClientSpoke{{1}}), IsEmpty());
  EXPECT_THAT(post(AdopterServes{{7}}), ElementsAre("offer 2 to worker 7", "offer 1 to worker 7"));
}

TEST_F(ParkingTest, ACallerThatNobodyTakesIsRefusedWhenItsPatienceIsOver) {
  park(1);
  post(ClientSpoke{{1}});
  EXPECT_EQ(next(), now + 30s);
  EXPECT_THAT(after(30s - 1ns), IsEmpty());
  EXPECT_THAT(after(1ns), ElementsAre("refuse 1"));
  EXPECT_EQ(parking.counts.refused, 1u);
}

TEST_F(ParkingTest, AWorkerThatServesInThatVeryInstantGetsItInstead) {
  park(1);
  post(ClientSpoke{{1}});
  now += 30s;
  EXPECT_THAT(post(AdopterServes{{7}}), ElementsAre("offer 1 to worker 7"));
}

TEST_F(ParkingTest, WhatAWorkerDeclinesGoesToAnother) {
  post(AdopterServes{{7}});
  post(AdopterServes{{8}});
  park(1);
  EXPECT_THAT(post(ClientSpoke{{1}}), ElementsAre("offer 1 to worker 7"));
  EXPECT_THAT(post(DeclinedBy{{1}, {7}}), ElementsAre("offer 1 to worker 8"));
  EXPECT_THAT(post(AdoptedBy{{1}, {7}}), IsEmpty()) << "it has said that it does not take it";
  EXPECT_THAT(post(AdoptedBy{{1}, {8}}), ElementsAre("let go 1"));
}

TEST_F(ParkingTest, TheOnlyWorkerIsAskedAgainOnlyAfterARest) {
  post(AdopterServes{{7}});
  park(1);
  post(ClientSpoke{{1}});
  EXPECT_THAT(post(DeclinedBy{{1}, {7}}), IsEmpty());
  EXPECT_EQ(next(), now + 100ms);
  EXPECT_THAT(after(100ms), ElementsAre("offer 1 to worker 7"));
}

TEST_F(ParkingTest, AWorkerThatNeverTakesAnyLeavesThePatienceAsItWas) {
  post(AdopterServes{{7}});
  park(1);
  const MonotonicTime spoke_at = now;
  post(ClientSpoke{{1}});
  post(DeclinedBy{{1}, {7}});
  while (parking.counts.refused == 0) {
    ASSERT_LT(now, spoke_at + 31s);
    for (const std::string& told : after(next() - now))
      if (told == "offer 1 to worker 7") post(DeclinedBy{{1}, {7}});
  }
  EXPECT_EQ(now, spoke_at + 30s);
}

TEST_F(ParkingTest, WhatAWorkerHadNotAcknowledgedWhenItWentGoesToAnother) {
  post(AdopterServes{{7}});
  park(1);
  park(2);
  post(ClientSpoke{{1}});
  post(ClientSpoke{{2}});
  post(AdoptedBy{{1}, {7}});
  EXPECT_THAT(post(AdopterServes{{8}}), IsEmpty()) << "it is offered already";
  EXPECT_THAT(post(AdopterGone{{7}}), ElementsAre("offer 2 to worker 8"));
}

TEST_F(ParkingTest, OneThatLeavesGetsNoMoreButMayTakeWhatItWasOffered) {
  post(AdopterServes{{7}});
  park(1);
  park(2);
  park(3);
  post(ClientSpoke{{1}});
  post(ClientSpoke{{2}});
  EXPECT_THAT(post(AdopterLeaves{{7}}), IsEmpty());
  EXPECT_THAT(post(ClientSpoke{{3}}), IsEmpty());
  EXPECT_THAT(post(AdoptedBy{{1}, {7}}), ElementsAre("let go 1"));
  EXPECT_THAT(post(DeclinedBy{{2}, {7}}), IsEmpty());
  EXPECT_THAT(post(AdopterServes{{8}}), ElementsAre("offer 2 to worker 8", "offer 3 to worker 8"));
}

TEST_F(ParkingTest, OneThatServesAgainIsOneWorkerWithTheOffersThatItHad) {
  for (std::uint64_t id = 1; id <= 3; ++id) park(id);
  post(AdopterServes{{7}});
  post(AdopterServes{{7}});
  EXPECT_EQ(parking.adopters.size(), 1u);
  post(ClientSpoke{{1}});
  post(ClientSpoke{{2}});
  post(AdopterLeaves{{7}});
  EXPECT_THAT(post(AdopterServes{{7}}), IsEmpty());
  EXPECT_THAT(post(ClientSpoke{{3}}), IsEmpty()) << "it has two to answer";
  EXPECT_THAT(post(AdoptedBy{{1}, {7}}), ElementsAre("let go 1", "offer 3 to worker 7"));
}

TEST_F(ParkingTest, WorkersShareWhatThereIs) {
  policy.most = 6;
  for (std::uint64_t id = 1; id <= 6; ++id) park(id);
  post(AdopterServes{{7}});
  post(AdopterServes{{8}});
  EXPECT_THAT(post(ClientSpoke{{1}}), ElementsAre("offer 1 to worker 7"));
  EXPECT_THAT(post(ClientSpoke{{2}}), ElementsAre("offer 2 to worker 8"));
  post(AdoptedBy{{1}, {7}});
  post(AdoptedBy{{2}, {8}});
  EXPECT_THAT(post(ClientSpoke{{3}}), ElementsAre("offer 3 to worker 7")) << "in turn";
  EXPECT_THAT(post(ClientSpoke{{4}}), ElementsAre("offer 4 to worker 8"));
  post(AdoptedBy{{4}, {8}});
  EXPECT_THAT(post(ClientSpoke{{5}}), ElementsAre("offer 5 to worker 8")) << "the other is behind";
}

TEST_F(ParkingTest, WorkersThatAreQuickTakeTurns) {
  post(AdopterServes{{7}});
  post(AdopterServes{{8}});
  for (const std::uint64_t worker : {7, 8, 7, 8}) {
    park(1);
    EXPECT_THAT(post(ClientSpoke{{1}}), ElementsAre("offer 1 to worker " + std::to_string(worker)));
    post(AdoptedBy{{1}, {worker}});
  }
}

TEST_F(ParkingTest, AWorkerThatMayHangIsAskedAfterAllOthers) {
  policy.most = 5;
  for (std::uint64_t id = 1; id <= 5; ++id) park(id);
  for (const std::uint64_t worker : {7, 8, 9}) post(AdopterServes{{worker}});
  post(AdopterHeard{{7}, now - policy.silence - 1ns});
  post(AdopterHeard{{8}, now - policy.silence});
  EXPECT_THAT(post(ClientSpoke{{1}}), ElementsAre("offer 1 to worker 8"));
  EXPECT_THAT(post(ClientSpoke{{2}}), ElementsAre("offer 2 to worker 9")) << "it promised no sign of life";
  post(ClientSpoke{{3}});
  post(ClientSpoke{{4}});
  EXPECT_THAT(post(ClientSpoke{{5}}), ElementsAre("offer 5 to worker 7")) << "rather than let the client wait";
}

TEST_F(ParkingTest, AWorkerThatIsHeardOfAgainIsOneOfThem) {
  post(AdopterServes{{7}});
  post(AdopterServes{{8}});
  post(AdopterHeard{{7}, now - 3s});
  post(AdopterHeard{{7}, now});
  park(1);
  EXPECT_THAT(post(ClientSpoke{{1}}), ElementsAre("offer 1 to worker 7"));
}

TEST_F(ParkingTest, AWorkerThatIsBehindGetsTheNextWhenItHasAnswered) {
  post(AdopterServes{{7}});
  for (std::uint64_t id = 1; id <= 3; ++id) park(id);
  post(ClientSpoke{{1}});
  post(ClientSpoke{{2}});
  EXPECT_THAT(post(ClientSpoke{{3}}), IsEmpty());
  EXPECT_EQ(state_of(3), ConnectionState::calling);
  EXPECT_THAT(post(AdoptedBy{{2}, {7}}), ElementsAre("let go 2", "offer 3 to worker 7"));
}

TEST_F(ParkingTest, WhenNobodyWillServeAnyMoreCallersAreRefusedAndTheSilentClosed) {
  park(1);
  park(2);
  park(3);
  post(ClientSpoke{{1}});
  EXPECT_THAT(post(ServiceEnds{}), ElementsAre("look again at 2", "look again at 3", "refuse 1"));
  EXPECT_THAT(post(ClientSilent{{2}}), ElementsAre("close 2"));
  EXPECT_THAT(post(ClientSpoke{{3}}), ElementsAre("refuse 3"));
  EXPECT_EQ(parking.counts.closed_at_stop, 1u);
  EXPECT_EQ(parking.counts.refused, 2u);
  EXPECT_EQ(next(), never);
}

TEST_F(ParkingTest, WhoHasJustComeIsOfferedToTheLastWorkerBeforeThatRetires) {
  park(1);
  now += 600ms;
  park(2);
  now += 600ms;
  park(3);
  post(AdopterServes{{7}});
  EXPECT_THAT(post(OneIsLeft{}), ElementsAre("offer 2 to worker 7", "offer 3 to worker 7"));
  EXPECT_EQ(state_of(1), ConnectionState::parked);
  EXPECT_FALSE(is_quiet(parking));
  post(AdoptedBy{{2}, {7}});
  post(AdoptedBy{{3}, {7}});
  EXPECT_TRUE(is_quiet(parking));
  EXPECT_THAT(post(OneIsLeft{}), IsEmpty());
  EXPECT_THAT(post(ServiceEnds{}), ElementsAre("look again at 1"));
}

TEST_F(ParkingTest, WhatTheLastWorkerGivesUpIsTakenFromItAndClosedAtOnce) {
  post(ServiceEnds{});
  EXPECT_THAT(post(Arrived{{1}}), ElementsAre("take in 1", "look again at 1"));
  EXPECT_THAT(post(ClientSilent{{1}}), ElementsAre("close 1"));
}

TEST_F(ParkingTest, OneThatTheMasterAcceptedIsOfferedAtOnceBesideAllThatAreParked) {
  policy.most = 1;
  policy.most_accepted = 1;
  park(1);
  EXPECT_TRUE(is_quiet(parking));
  ASSERT_TRUE(takes_accepted(parking, policy));
  EXPECT_THAT(post(Accepted{{2}}), IsEmpty()) << "nobody serves yet";
  EXPECT_FALSE(takes_accepted(parking, policy));
  EXPECT_FALSE(is_quiet(parking));
  EXPECT_THAT(post(AdopterServes{{7}}), ElementsAre("offer 2 to worker 7"));
  EXPECT_FALSE(is_quiet(parking));
  EXPECT_THAT(post(AdoptedBy{{2}, {7}}), ElementsAre("let go 2"));
  EXPECT_TRUE(is_quiet(parking));
  EXPECT_TRUE(takes_accepted(parking, policy));
}

TEST_F(ParkingTest, OneThatTheMasterAcceptedIsRefusedWhenNobodyWillServe) {
  post(ServiceEnds{});
  EXPECT_THAT(post(Accepted{{1}}), ElementsAre("refuse 1"));
}

TEST_F(ParkingTest, AnOfferThatComesBackAfterTheEndIsRefused) {
  post(AdopterServes{{7}});
  park(1);
  post(ClientSpoke{{1}});
  EXPECT_THAT(post(ServiceEnds{}), IsEmpty()) << "its worker may yet take it";
  EXPECT_THAT(post(AdopterGone{{7}}), ElementsAre("refuse 1"));
}

TEST_F(ParkingTest, WhatNobodyKnowsChangesNothing) {
  park(1);
  for (const ParkingEvent& event :
       {ParkingEvent(ClientSpoke{{9}}), ParkingEvent(ClientHungUp{{9}}), ParkingEvent(ClientSilent{{1}}),
        ParkingEvent(AdoptedBy{{1}, {7}}), ParkingEvent(DeclinedBy{{1}, {7}}), ParkingEvent(AdopterLeaves{{7}}),
        ParkingEvent(AdopterGone{{7}}), ParkingEvent(CannotWatch{{9}})})
    EXPECT_THAT(post(event), IsEmpty());
  EXPECT_EQ(state_of(1), ConnectionState::parked);
}
}  // namespace
}  // namespace moult
