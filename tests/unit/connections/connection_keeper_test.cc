// The keeper with real sockets on a real loop, between links that do what the test says.
#include "master/connections/connection_keeper.h"

#include <fcntl.h>
#include <gmock/gmock.h>

#include "tests/unit/connections/client_pair.h"
#include "tests/unit/connections/scripted_link.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class ConnectionKeeperTest : public testing::Test {
 protected:
  ~ConnectionKeeperTest() override { keeper.reset(); }
  void make(ParkingPolicy policy = {.most = 8, .keep_alive = 75s, .patience = 30s}) {
    const auto link = [this](WorkerId id) -> WorkerLink* {
      const auto found = links.find(id);
      return found == links.end() ? nullptr : found->second.get();
    };
    keeper = std::make_unique<ConnectionKeeper>(loop.get(), policy, link, [this] { return has_room; });
    events = keeper->events();
  }
  Worker& worker(std::uint64_t id) { return *std::ranges::find(pool.workers, WorkerId{id}, &Worker::id); }
  ScriptedLink& serve(std::uint64_t id) {
    auto& link = links[{id}] = std::make_unique<ScriptedLink>(said);
    pool.workers.push_back({.id = {id}, .slot = 0, .generation = {1}, .state = WorkerState::serving});
    keeper->pool_settled(pool);
    return *link;
  }
  void retire(std::uint64_t id) {
    worker(id).state = WorkerState::retiring;
    keeper->pool_settled(pool);
  }
  void exit(std::uint64_t id) {
    const Worker gone = worker(id);
    keeper->worker_gone(gone, {});
    links.erase({id});
    std::erase_if(pool.workers, [id](const Worker& each) { return each.id == WorkerId{id}; });
    keeper->pool_settled(pool);
  }
  // A client of worker `from`, which gives its end up: the kernel has passed a copy.
  ClientPair store(std::uint64_t from, std::uint64_t number) {
    ClientPair pair = ClientPair::tcp();
    events.stored({from}, number, pair.copy_of_server());
    return pair;
  }
  std::vector<std::string> told() { return std::exchange(said, {}); }
  ParkingDescription now() const { return keeper->describe(); }

  TestLoop loop;
  bool has_room = true;
  Pool pool;
  std::vector<std::string> said;
  std::map<WorkerId, std::unique_ptr<ScriptedLink>> links;
  std::unique_ptr<ConnectionKeeper> keeper;
  ConnectionEvents events;
};

TEST_F(ConnectionKeeperTest, TheNextWordOfAParkedClientIsReadByAnotherWorker) {
  make();
  serve(1);
  retire(1);
  ClientPair client = store(1, 41);
  EXPECT_THAT(told(), ElementsAre("HELD=41"));
  client.server.reset();  // as its worker does at HELD
  exit(1);
  ScriptedLink& other = serve(2);
  EXPECT_EQ(now().held, 1u);

  client.say("GET / HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(loop.run_until([&] { return !said.empty(); }));
  EXPECT_THAT(told(), ElementsAre("ADOPT=1"));
  EXPECT_EQ(now().held, 1u) << "until it is acknowledged";
  events.adopted({2}, {1});
  EXPECT_EQ(now().held, 0u);
  EXPECT_EQ(now().counts.given, 1u);
  EXPECT_EQ(read_now(other.passed.at({1}).get()), "GET / HTTP/1.1\r\n\r\n");
  send_now(other.passed.at({1}).get(), "answer");
  EXPECT_TRUE(loop.run_until([&] { return client.heard() == "answer"; }));
}

TEST_F(ConnectionKeeperTest, WhatAClientSaidBeforeItWasStoredTravelsWithTheSocket) {
  make();
  ScriptedLink& other = serve(2);
  ClientPair client = ClientPair::tcp();
  client.say("early");
  events.stored({2}, 1, client.copy_of_server());
  ASSERT_TRUE(loop.run_until([&] { return said.size() == 2; }));
  EXPECT_THAT(told(), ElementsAre("HELD=1", "ADOPT=1"));
  EXPECT_EQ(read_now(other.passed.at({1}).get()), "early");
}

TEST_F(ConnectionKeeperTest, BeyondTheBoundItIsDeclinedAndUntouched) {
  make({.most = 1, .keep_alive = 75s, .patience = 30s});
  serve(1);
  ClientPair first = store(1, 1), second = store(1, 2);
  EXPECT_THAT(told(), ElementsAre("HELD=1", "DECLINED=2"));
  EXPECT_FALSE(::fcntl(second.server.get(), F_GETFL) & O_NONBLOCK) << "it is the worker's, as it was";
  send_now(second.server.get(), "still served");
  EXPECT_TRUE(loop.run_until([&] { return second.heard() == "still served"; }));
  EXPECT_EQ(now().counts.declined, 1u);
}

TEST_F(ConnectionKeeperTest, WhileALaunchWouldFindNoDescriptorNoneIsTakenForParking) {
  make();
  serve(1);
  has_room = false;
  ClientPair first = store(1, 1);
  has_room = true;
  ClientPair second = store(1, 2);
  EXPECT_THAT(told(), ElementsAre("DECLINED=1", "HELD=2"));
  EXPECT_EQ(now().counts.declined, 1u);
  EXPECT_EQ(now().held, 1u);
}

TEST_F(ConnectionKeeperTest, WithoutRoomForAnyWorkersAreToGiveUpNone) {
  make({.most = 0, .keep_alive = 75s, .patience = 30s});
  EXPECT_FALSE(events.stored);
}

TEST_F(ConnectionKeeperTest, WhatIsNoClientConnectionIsDeclined) {
  make();
  serve(1);
  events.stored({1}, 1, UniqueFd());  // lost on the way
  events.stored({1}, 2, UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC)));
  UniqueFd listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::listen(listening.get(), 1), 0);
  events.stored({1}, 3, std::move(listening));
  events.stored({1}, 4, UniqueFd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)));
  EXPECT_THAT(told(), ElementsAre("DECLINED=1", "DECLINED=2", "DECLINED=3", "DECLINED=4"));
  EXPECT_EQ(now().counts.declined, 4u);
  EXPECT_EQ(now().held, 0u);
}

TEST_F(ConnectionKeeperTest, AClientThatHangsUpIsForgotten) {
  make();
  serve(1);
  ClientPair polite = store(1, 1), rude = store(1, 2), silent = store(1, 3);
  polite.client.reset();
  rude.reset_by_client();
  ASSERT_TRUE(loop.run_until([&] { return now().held == 1; }));
  EXPECT_EQ(now().counts.closed_by_client, 2u);
  EXPECT_THAT(told(), ElementsAre("HELD=1", "HELD=2", "HELD=3"));
}

TEST_F(ConnectionKeeperTest, ClosingASilentClientLeavesASocketOfTheWorkerAsItIs) {
  make({.most = 8, .keep_alive = 20ms, .patience = 30s});
  serve(1);
  ClientPair client = store(1, 1);
  ASSERT_TRUE(loop.run_until([&] { return now().held == 0; }));
  EXPECT_EQ(now().counts.timed_out, 1u);
  send_now(client.server.get(), "mine still");  // no shutdown has gone through the shared socket
  ASSERT_TRUE(loop.run_until([&] { return client.heard() == "mine still"; }));
  EXPECT_FALSE(client.ended());
  client.server.reset();
  EXPECT_TRUE(loop.run_until([&] { return client.ended(); }));
}

TEST_F(ConnectionKeeperTest, WhatAWorkerDidNotAcknowledgeWhenItDiedGoesToAnotherUnread) {
  make();
  serve(1);
  retire(1);
  ClientPair client = store(1, 1);
  client.server.reset();
  serve(2);
  client.say("hello");
  ASSERT_TRUE(loop.run_until([&] { return said.size() == 2; }));
  ScriptedLink& third = serve(3);
  exit(2);  // its copy dies with it
  EXPECT_THAT(told(), ElementsAre("HELD=1", "ADOPT=1", "ADOPT=1"));
  EXPECT_EQ(read_now(third.passed.at({1}).get()), "hello");
  EXPECT_FALSE(client.ended());
}

TEST_F(ConnectionKeeperTest, AWorkerWhoseHeartIsStillIsAskedAfterTheOther) {
  make();
  ScriptedLink &still = serve(1), &lively = serve(2);
  still.beat = monotonic_now(loop.get()) - 3s;
  lively.beat = monotonic_now(loop.get());
  ClientPair client = store(1, 1);
  client.say("hello");
  ASSERT_TRUE(loop.run_until([&] { return said.size() == 2; }));
  EXPECT_TRUE(still.passed.empty());
  EXPECT_TRUE(lively.passed.contains({1}));
}

TEST_F(ConnectionKeeperTest, AWorkerWhoseChannelEndedGetsNoMore) {
  make();
  ScriptedLink& link = serve(2);
  ClientPair client = store(2, 1);
  link.open = false;
  events.ended({2});
  client.say("hello");
  ASSERT_TRUE(loop.run_until([&] { return now().callers == 1; }));
  serve(3);
  EXPECT_THAT(told(), ElementsAre("HELD=1", "ADOPT=1"));
}

TEST_F(ConnectionKeeperTest, OneThatAdoptsNoMoreIsNotAskedAgain) {
  make({.most = 8, .keep_alive = 75s, .patience = 30s, .rest = 5ms});
  ScriptedLink& link = serve(2);
  ClientPair client = store(2, 1);
  link.open = false;
  keeper->pool_settled(pool);
  link.open = true;  // would it be asked, it would take it
  client.say("hello");
  ASSERT_TRUE(loop.run_until([&] { return now().callers == 1; }));
  EXPECT_THAT(told(), ElementsAre("HELD=1"));
}

TEST_F(ConnectionKeeperTest, OneThatCannotBeToldIsAskedAgainLater) {
  make({.most = 8, .keep_alive = 75s, .patience = 30s, .rest = 5ms});
  ScriptedLink& link = serve(2);
  ClientPair client = store(2, 1);
  link.open = false;
  client.say("hello");
  ASSERT_TRUE(loop.run_until([&] { return now().callers == 1; }));
  link.open = true;
  ASSERT_TRUE(loop.run_until([&] { return said.size() == 2; }));
  EXPECT_THAT(told(), ElementsAre("HELD=1", "ADOPT=1"));
}

TEST_F(ConnectionKeeperTest, ARetiringWorkerIsOfferedNothing) {
  make();
  serve(1);
  retire(1);
  ClientPair client = store(1, 1);
  client.say("hello");
  ASSERT_TRUE(loop.run_until([&] { return now().callers == 1; }));
  EXPECT_THAT(told(), ElementsAre("HELD=1"));
  serve(2);
  EXPECT_THAT(told(), ElementsAre("ADOPT=1"));
}

TEST_F(ConnectionKeeperTest, ACallerWhomNobodyTakesIsToldWhenToComeAgain) {
  make({.most = 8, .keep_alive = 75s, .patience = 20ms});
  serve(1);
  retire(1);
  ClientPair client = store(1, 1);
  client.server.reset();
  client.say("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello");
  ASSERT_TRUE(loop.run_until([&] { return client.ended(); }));
  EXPECT_THAT(client.heard(), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(client.heard(), HasSubstr("\r\nRetry-After: 1\r\n"));
  EXPECT_THAT(client.heard(), HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_EQ(now().counts.refused, 1u);
}

TEST_F(ConnectionKeeperTest, AtAStopTheSilentAreClosedAndCallersRefused) {
  make();
  serve(1);
  pool.goal.mode = Mode::last;
  keeper->pool_settled(pool);
  ClientPair silent = store(1, 1), caller = store(1, 2), late = ClientPair::tcp();
  for (ClientPair* each : {&silent, &caller}) each->server.reset();
  EXPECT_EQ(now().held, 2u) << "the last worker serves still";
  caller.say("hello");
  retire(1);
  EXPECT_EQ(now().held, 0u);
  events.stored({1}, 3, late.copy_of_server());
  late.server.reset();
  EXPECT_THAT(told(), ElementsAre("HELD=1", "HELD=2", "HELD=3")) << "it need not wait for its idle clients";
  ASSERT_TRUE(loop.run_until([&] { return silent.ended() && caller.ended() && late.ended(); }));
  EXPECT_EQ(silent.heard(), "");
  EXPECT_EQ(late.heard(), "");
  EXPECT_THAT(caller.heard(), StartsWith("HTTP/1.1 503 "));
  EXPECT_EQ(now().counts.closed_at_stop, 2u);
}

TEST_F(ConnectionKeeperTest, TheEndWaitsForARefusedClientToHangUp) {
  make();
  serve(1);
  ClientPair caller = store(1, 1);
  caller.server.reset();
  retire(1);
  caller.say("hello");
  ASSERT_TRUE(loop.run_until([&] { return now().callers == 1; }));
  exit(1);
  bool done = false;
  keeper->finish([&] { done = true; });
  EXPECT_FALSE(done);
  ASSERT_TRUE(loop.run_until([&] { return caller.ended(); }));
  EXPECT_THAT(caller.heard(), StartsWith("HTTP/1.1 503 "));
  EXPECT_FALSE(done);
  caller.client.reset();
  EXPECT_TRUE(loop.run_until([&] { return done; }));
}

TEST_F(ConnectionKeeperTest, TheEndWaitsForNobodyWhenNobodyIsThere) {
  make();
  bool done = false;
  keeper->finish([&] { done = true; });
  EXPECT_TRUE(done);
}

TEST_F(ConnectionKeeperTest, UnixSocketsAreKeptLikeAnyOther) {
  make();
  ScriptedLink& link = serve(1);
  ClientPair client = ClientPair::unix_stream();
  events.stored({1}, 1, client.copy_of_server());
  client.server.reset();
  client.say("hello");
  ASSERT_TRUE(loop.run_until([&] { return said.size() == 2; }));
  EXPECT_EQ(read_now(link.passed.at({1}).get()), "hello");
}
}  // namespace
}  // namespace moult
