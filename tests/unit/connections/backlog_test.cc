// What waits at a real door when moult stops, with a keeper and a link that does what the test says.
#include "master/connections/backlog.h"

#include <gmock/gmock.h>

#include "tests/unit/connections/client_pair.h"
#include "tests/unit/connections/scripted_link.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

class BacklogTest : public testing::Test {
 protected:
  BacklogTest() {
    EXPECT_EQ(::bind(door.get(), generic(), size), 0);
    EXPECT_EQ(::listen(door.get(), 256), 0);
    EXPECT_EQ(::getsockname(door.get(), generic(), &size), 0);
  }
  ~BacklogTest() override {
    backlog.reset();
    keeper.reset();
  }
  sockaddr* generic() { return reinterpret_cast<sockaddr*>(&address); }
  UniqueFd call() {
    UniqueFd caller(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(caller.get(), generic(), size), 0);
    return caller;
  }
  void serve(WorkerState state = WorkerState::serving) {
    pool.workers = {{.id = {1}, .slot = 0, .generation = {1}, .state = state}};
    keeper->pool_settled(pool);
  }
  void hand_over() {
    backlog->hand_over({door.get()}, [this] { ++times_done; });
  }
  std::size_t passed() const { return link.passed.size(); }
  void adopt_all() {
    for (const auto& [id, fd] : link.passed) events.adopted({1}, id);  // those that it had before are nobody's now
  }

  TestLoop loop;
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof address;
  UniqueFd door{::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  Pool pool;
  std::vector<std::string> said;
  ScriptedLink link{said};
  std::unique_ptr<ConnectionKeeper> keeper = std::make_unique<ConnectionKeeper>(
      loop.get(), ParkingPolicy{.most = 8, .keep_alive = 75s, .patience = 30s},
      [this](WorkerId id) { return id == WorkerId{1} ? &link : nullptr; }, [] { return true; });
  ConnectionEvents events = keeper->events();
  std::unique_ptr<Backlog> backlog = std::make_unique<Backlog>(loop.get(), *keeper);
  int times_done = 0;
};

TEST_F(BacklogTest, WhoWaitsAtTheDoorIsGivenToTheWorkerThatServes) {
  serve();
  const UniqueFd speaks = call(), is_silent = call();
  send_now(speaks.get(), "hello");
  hand_over();
  ASSERT_EQ(passed(), 2u);
  EXPECT_EQ(times_done, 0) << "the worker has not said that it has them";
  adopt_all();
  ASSERT_TRUE(loop.run_until([&] { return times_done == 1; }));
  EXPECT_EQ(read_now(link.passed.begin()->second.get()), "hello");
}

TEST_F(BacklogTest, WhoComesMeanwhileIsGivenAsWell) {
  serve();
  const UniqueFd first = call();
  hand_over();
  const UniqueFd second = call();
  adopt_all();
  ASSERT_TRUE(loop.run_until([&] { return passed() == 2; }));
  EXPECT_EQ(times_done, 0);
  adopt_all();
  EXPECT_TRUE(loop.run_until([&] { return times_done == 1; }));
}

TEST_F(BacklogTest, MoreThanMayBeOfferedAtATimeAreAcceptedOneBatchAfterTheOther) {
  serve();
  std::vector<UniqueFd> callers;
  for (int i = 0; i < 200; ++i) callers.push_back(call());
  hand_over();
  EXPECT_EQ(passed(), 64u) << "the worker may leave so many unanswered";
  ASSERT_TRUE(loop.run_until([&] {
    adopt_all();
    return times_done == 1;
  }));
  EXPECT_EQ(passed(), 200u);
}

TEST_F(BacklogTest, WhereNobodyWaitsOrNobodyAdoptsItIsOverAtOnce) {
  link.open = false;
  serve();
  const UniqueFd caller = call();
  hand_over();
  EXPECT_EQ(times_done, 1);
  EXPECT_GE(UniqueFd(::accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC)).get(), 0) << "it was left at the door";
  link.open = true;
  serve();
  hand_over();
  EXPECT_EQ(times_done, 2);
}

TEST_F(BacklogTest, AWorkerThatLeavesEndsIt) {
  serve();
  const UniqueFd caller = call();
  hand_over();
  EXPECT_EQ(times_done, 0);
  serve(WorkerState::retiring);
  EXPECT_TRUE(loop.run_until([&] { return times_done == 1; }));
}

TEST_F(BacklogTest, OneThatWasParkedAMomentAgoIsGivenToTheLastWorkerThoughItIsSilent) {
  serve();
  ClientPair client = ClientPair::tcp();
  events.stored({1}, 1, client.copy_of_server());
  client.server.reset();
  EXPECT_EQ(passed(), 0u);
  hand_over();
  ASSERT_EQ(passed(), 1u);
  EXPECT_EQ(times_done, 0);
  adopt_all();
  EXPECT_TRUE(loop.run_until([&] { return times_done == 1; }));
}

TEST_F(BacklogTest, ACallerOfAParkedConnectionIsServedBeforeTheEnd) {
  serve();
  ClientPair client = ClientPair::tcp();
  events.stored({1}, 1, client.copy_of_server());
  client.server.reset();
  client.say("hello");
  ASSERT_TRUE(loop.run_until([&] { return passed() == 1; }));
  hand_over();
  EXPECT_EQ(times_done, 0);
  adopt_all();
  EXPECT_TRUE(loop.run_until([&] { return times_done == 1; }));
}
}  // namespace
}  // namespace moult
