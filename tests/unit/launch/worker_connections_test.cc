// ChannelLink and the connections of its worker, in both directions (fake_fork_server.py plays the worker).
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>

#include "tests/unit/launch/fork_server_test.h"
namespace moult {
namespace {
using testing::ElementsAre;

class WorkerConnections : public ForkServerTest {};

TEST_F(WorkerConnections, AWorkersIdleConnectionsAreHeardOfAndAnswered) {
  hear_of_connections();
  make_loaded("good", "passes-connections");
  WorkerLink& link = launch_ready();
  link.retire(never, Adopters::some);
  ASSERT_TRUE(run_until([&] { return passed.size() == 3; }));
  EXPECT_THAT(passed, ElementsAre("stored 5", "lost 6", "lost 7")) << "exactly one comes with each";
  link.hold(5);
  link.decline(6);
  ASSERT_TRUE(run_until([&] { return statuses.size() == 2; }));
  EXPECT_THAT(statuses, ElementsAre("held 5", "declined 6"));
  EXPECT_EQ(1u, link.handed_over());
}

TEST_F(WorkerConnections, AWorkerIsOfferedAConnectionThatStaysOursToo) {
  hear_of_connections();
  make_loaded("good", "passes-connections");
  WorkerLink& link = launch(1);
  EXPECT_FALSE(link.adopts()) << "it is not ready";
  ASSERT_TRUE(run_until([&] { return !ready.empty(); }));
  statuses.clear();
  ASSERT_TRUE(link.adopts());
  int ends[2];
  ASSERT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
  const UniqueFd client(ends[0]), ours(ends[1]);
  ASSERT_EQ(5, ::write(client.get(), "hello", 5));
  ASSERT_TRUE(link.adopt({9}, ours.get()));
  ASSERT_TRUE(run_until([&] { return !statuses.empty(); }));
  EXPECT_THAT(passed, ElementsAre("adopted 9"));
  EXPECT_THAT(statuses, ElementsAre("adopted hello"));
  EXPECT_GE(::fcntl(ours.get(), F_GETFD), 0);
  ASSERT_TRUE(link.adopt({13}, ours.get()));
  ASSERT_TRUE(run_until([&] { return passed.size() == 2; }));
  EXPECT_EQ("declined 13", passed[1]);
}

TEST_F(WorkerConnections, AWorkerThatIsBehindGetsAllOfThemWhenItReads) {
  hear_of_connections();
  make_loaded("good", "passes-connections");
  WorkerLink& link = launch_ready();
  link.signal(SIGSTOP);
  int ends[2];
  ASSERT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
  const UniqueFd client(ends[0]), ours(ends[1]);
  const std::string words(3000, 'w');
  ASSERT_EQ(3000, ::write(client.get(), words.data(), words.size()));
  for (std::uint64_t id = 101; id <= 700; ++id) ASSERT_TRUE(link.adopt({id}, ours.get()));  // more than a socket takes
  run_for(std::chrono::milliseconds(20));
  link.signal(SIGCONT);
  ASSERT_TRUE(run_until([&] { return passed.size() == 600; }));
  EXPECT_EQ("adopted 101", passed.front());
  EXPECT_EQ("adopted 700", passed.back());
  EXPECT_TRUE(gone.empty());
}

TEST_F(WorkerConnections, AnAnswerAboutNoConnectionAtAllDropsNothingThatWaits) {
  hear_of_connections();
  make_loaded("good", "answers-to-nothing");
  WorkerLink& link = launch_ready();
  link.signal(SIGSTOP);
  for (std::uint64_t number = 1; number <= 900; ++number) link.hold(number);  // more than a socket takes
  run_for(std::chrono::milliseconds(20));
  link.signal(SIGCONT);
  ASSERT_TRUE(run_until([&] { return statuses.size() == 900; }));
  EXPECT_EQ("held 900", statuses.back());
}

TEST_F(WorkerConnections, WhereNobodyTakesConnectionsTheyAreDeclined) {
  make_loaded("good", "passes-connections");
  launch_ready().retire(never, Adopters::some);
  ASSERT_TRUE(run_until([&] { return statuses.size() == 3; }));
  EXPECT_THAT(statuses, ElementsAre("declined 5", "declined 6", "declined 7"));
}

TEST_F(WorkerConnections, WhatAWorkerGivesUpToBeClosedIsHeardOfAndAnsweredAndIsNoHandOver) {
  hear_of_connections();
  connections.closing = [this](WorkerId, std::uint64_t as, UniqueFd fd) {
    passed.push_back((fd ? "closing " : "lost ") + std::to_string(as));
  };
  make_loaded("good", "gives-up-to-close");
  WorkerLink& link = launch_ready();
  link.retire(never, Adopters::some);
  ASSERT_TRUE(run_until([&] { return passed.size() == 2; }));
  EXPECT_THAT(passed, ElementsAre("closing 5", "lost 6"));
  link.take_to_close(5);
  link.decline(6);
  ASSERT_TRUE(run_until([&] { return statuses.size() == 2; }));
  EXPECT_THAT(statuses, ElementsAre("held 5", "declined 6"));
  EXPECT_EQ(0u, link.handed_over());
}

TEST_F(WorkerConnections, WhereNobodyClosesForWorkersItIsDeclined) {
  hear_of_connections();
  make_loaded("good", "gives-up-to-close");
  launch_ready().retire(never, Adopters::some);
  ASSERT_TRUE(run_until([&] { return statuses.size() == 2; }));
  EXPECT_THAT(statuses, ElementsAre("declined 5", "declined 6"));
}

TEST_F(WorkerConnections, AWorkerThatRetiresIsToldWhenNobodyTakesWhatItGivesUp) {
  make_loaded("good", "tells-its-order");
  launch_ready().retire(never, Adopters::none);
  ASSERT_TRUE(all_gone());
  EXPECT_THAT(statuses, ElementsAre("parking: 0"));
}

TEST_F(WorkerConnections, AWorkerThatOthersFollowHearsNothingOfParking) {
  make_loaded("good", "tells-its-order");
  launch_ready().retire(never, Adopters::some);
  ASSERT_TRUE(all_gone());
  EXPECT_THAT(statuses, ElementsAre("parking: not said"));
}

TEST_F(WorkerConnections, WhatADyingWorkerStoredIsHeardBeforeItIsGone) {
  hear_of_connections();
  make_loaded("good", "stores-and-dies");
  WorkerLink& link = launch_ready();
  link.retire(never, Adopters::some);
  ASSERT_TRUE(all_gone());
  EXPECT_EQ("stored 5", passed.front());
  EXPECT_EQ("gone", passed.back());
  EXPECT_FALSE(link.adopts());
}

TEST_F(WorkerConnections, AWorkerThatStopsByItselfIsOfferedNothing) {
  make_loaded("good", "stops-by-itself");
  WorkerLink& link = launch_ready();
  EXPECT_TRUE(link.adopts());
  link.hold(7);  // here: stop
  ASSERT_TRUE(run_until([&] { return !link.adopts(); }));
  EXPECT_FALSE(link.adopt({1}, STDIN_FILENO));
  EXPECT_FALSE(is_gone(link.pid()));
}

TEST_F(WorkerConnections, AWorkerThatClosesItsChannelIsOfferedNothingThoughItLives) {
  hear_of_connections();
  make_loaded("good", "closes-its-channel");
  WorkerLink& link = launch_ready();
  link.retire(never, Adopters::some);
  ASSERT_TRUE(run_until([&] { return !passed.empty(); }));
  EXPECT_THAT(passed, ElementsAre("end of 1"));
  EXPECT_FALSE(link.adopts());
  EXPECT_FALSE(link.adopt({1}, STDIN_FILENO));
  EXPECT_FALSE(is_gone(link.pid()));
}

TEST_F(WorkerConnections, AStoredConnectionWithoutANumberBreaksTheContract) {
  hear_of_connections();
  make_loaded("good", "stores-nonsense");
  launch_ready().retire(never, Adopters::some);
  ASSERT_TRUE(run_until([&] { return !refused.empty(); }));
  EXPECT_THAT(refused, ElementsAre("FDSTORE is no number"));
}
}  // namespace
}  // namespace moult
