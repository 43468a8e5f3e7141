// Health checks of an app that sleeps, over real sockets: they are answered, and nobody wakes for them.
#include <gmock/gmock.h>

#include <deque>

#include "master/connections/sleeping_doors.h"
#include "tests/unit/connections/caller.h"
#include "tests/unit/connections/client_pair.h"
#include "tests/unit/connections/scripted_link.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const std::string check = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
const std::string order = "POST /order HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";

class IgnoredPathsTest : public testing::Test {
 protected:
  IgnoredPathsTest() {
    doors->on_caller([this] { ++told; });
    doors->watch(true);
  }
  ~IgnoredPathsTest() override {
    doors.reset();
    keeper.reset();
  }
  std::size_t held() const { return keeper->describe().held; }
  std::uint64_t answered() const { return keeper->describe().ignored_requests; }
  bool is_told() {
    return loop.run_until([&] { return told == 1; });
  }
  bool answers(std::uint64_t so_many) {
    return loop.run_until([&] { return answered() == so_many; });
  }
  void turn_for(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    loop.run_until([&] { return std::chrono::steady_clock::now() >= end; });
  }
  // What the worker that takes the only caller finds in the socket.
  std::string found_by_a_worker() {
    pool.workers = {{.id = {1}, .slot = 0, .generation = {1}, .state = WorkerState::serving}};
    keeper->pool_settled(pool);
    EXPECT_EQ(link.passed.size(), 1u);
    return link.passed.empty() ? "" : read_now(link.passed.begin()->second.get());
  }

  TestLoop loop;
  PublicDoor door = PublicDoor::tcp();
  Pool pool;
  std::vector<std::string> said;
  ScriptedLink link{said};
  int told = 0;
  std::unique_ptr<ConnectionKeeper> keeper = std::make_unique<ConnectionKeeper>(
      loop.get(), ParkingPolicy{.most = 64, .keep_alive = 75s, .patience = 30s},
      [this](WorkerId id) { return id == WorkerId{1} ? &link : nullptr; }, [] { return true; },
      WhileAsleep{.ignored_paths = {"/healthz", "/up"}});
  std::unique_ptr<SleepingDoors> doors = std::make_unique<SleepingDoors>(
      loop.get(), *keeper, [this] { return std::vector{door.fd.get()}; }, [] { return true; });
};

TEST_F(IgnoredPathsTest, ACheckIsAnsweredAndItsConnectionWaitsForTheNext) {
  Caller client(door);
  for (std::uint64_t i = 1; i <= 5; ++i) {
    client.say(check);
    ASSERT_TRUE(answers(i));
    ASSERT_TRUE(loop.run_until([&] { return client.heard().ends_with("\r\n\r\nok\n"); }));
  }
  EXPECT_THAT(client.heard(), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(held(), 1u);
  EXPECT_EQ(told, 0);
  client.hang_up();
  EXPECT_TRUE(loop.run_until([&] { return held() == 0; }));
}

TEST_F(IgnoredPathsTest, OneThatWantsNoMoreIsClosedAndHearsAll) {
  for (const std::string head : {"GET /healthz HTTP/1.0\r\n\r\n", "HEAD /up HTTP/1.1\r\nConnection: close\r\n\r\n"}) {
    Caller client(door);
    client.say(head);
    ASSERT_TRUE(loop.run_until([&] { return client.ended(); })) << head;
    EXPECT_THAT(client.heard(), StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(client.heard(), HasSubstr("\r\nConnection: close\r\n"));
    EXPECT_FALSE(client.was_reset);
    EXPECT_EQ(held(), 0u);
  }
  EXPECT_EQ(told, 0);
}

TEST_F(IgnoredPathsTest, OneThatHangsUpHalfBehindItsRequestIsAnsweredStill) {
  Caller client(door);
  client.say(check);
  client.says_no_more();
  ASSERT_TRUE(loop.run_until([&] { return client.ended(); }));
  EXPECT_THAT(client.heard(), EndsWith("ok\n"));
  EXPECT_EQ(told, 0);
}

TEST_F(IgnoredPathsTest, AHeadThatComesInPartsIsHeardToItsEnd) {
  Caller client(door);
  for (const char c : check) {
    client.say(std::string(1, c));
    turn_for(1ms);
  }
  ASSERT_TRUE(answers(1));
  EXPECT_TRUE(loop.run_until([&] { return client.heard().ends_with("ok\n"); }));
  EXPECT_EQ(told, 0);
  client.say(check);
  EXPECT_TRUE(answers(2)) << "it is listened to again";
}

TEST_F(IgnoredPathsTest, OneWhoseHeadDoesNotEndIsACallerAndNothingOfItIsLost) {
  Caller client(door);
  client.say("GET /healthz HTTP/1.1\r\n");
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(is_told());
  EXPECT_GE(std::chrono::steady_clock::now() - began, 900ms);
  EXPECT_EQ(client.heard(), "");
  client.say("Host: x\r\n\r\n");
  turn_for(5ms);
  EXPECT_EQ(found_by_a_worker(), check);
}

TEST_F(IgnoredPathsTest, AHeadThatIsTooLongIsACallerAtOnce) {
  Caller client(door);
  client.say("GET /healthz HTTP/1.1\r\nX: " + std::string(9000, 'x'));
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(is_told());
  EXPECT_LT(std::chrono::steady_clock::now() - began, 800ms);
}

TEST_F(IgnoredPathsTest, AnythingElseIsACallerUnread) {
  Caller client(door);
  client.say(order);
  ASSERT_TRUE(is_told());
  EXPECT_EQ(answered(), 0u);
  EXPECT_EQ(found_by_a_worker(), order);
}

TEST_F(IgnoredPathsTest, APipelinedCheckIsAnsweredAndWhatComesBehindItIsTheWorkers) {
  Caller client(door);
  client.say(check + check + order);
  ASSERT_TRUE(is_told());
  EXPECT_EQ(answered(), 2u);
  EXPECT_EQ(found_by_a_worker(), order);
}

TEST_F(IgnoredPathsTest, ThousandPipelinedChecksAreAllAnswered) {
  Caller client(door);
  std::string all;
  for (int i = 0; i < 1000; ++i) all += check;
  client.say(all);
  std::size_t heard = 0;
  ASSERT_TRUE(loop.run_until([&] { return (heard = client.heard().size()) > 0 && answered() == 1000; }));
  EXPECT_EQ(told, 0);
}

TEST_F(IgnoredPathsTest, OneThatNeverReadsItsAnswersIsClosed) {
  const int small = 4096;  // for those who are accepted, too
  ASSERT_EQ(::setsockopt(door.fd.get(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
  Caller client(door);
  std::string all;
  for (int i = 0; i < 1000; ++i) all += check;
  ASSERT_TRUE(loop.run_until([&] {
    client.say_now(all);
    return answered() > 0 && held() == 0;
  }));
}

TEST_F(IgnoredPathsTest, InARefusalChecksAreAnsweredAndCallersRefused) {
  Caller client(door), caller(door);
  uv_update_time(loop.get());
  doors->refuse(monotonic_now(loop.get()) + 30s);
  client.say(check);
  caller.say(order);
  EXPECT_TRUE(loop.run_until([&] { return client.heard().ends_with("ok\n"); }));
  ASSERT_TRUE(loop.run_until([&] { return caller.ended(); }));
  EXPECT_THAT(caller.heard(), StartsWith("HTTP/1.1 503 "));
}

TEST_F(IgnoredPathsTest, WhileAWorkerServesItAnswersThem) {
  Caller client(door);
  ASSERT_TRUE(loop.run_until([&] { return held() == 1; }));
  pool.workers = {{.id = {1}, .slot = 0, .generation = {1}, .state = WorkerState::serving}};
  keeper->pool_settled(pool);
  doors->watch(false);
  client.say(check);
  ASSERT_TRUE(loop.run_until([&] { return link.passed.size() == 1; }));
  EXPECT_EQ(read_now(link.passed.begin()->second.get()), check);
}

TEST_F(IgnoredPathsTest, HalfARequestIsTheWorkersWhenItWakesMeanwhile) {
  Caller client(door);
  client.say("GET /hea");
  ASSERT_TRUE(loop.run_until([&] { return held() == 1; }));
  turn_for(5ms);
  pool.workers = {{.id = {1}, .slot = 0, .generation = {1}, .state = WorkerState::serving}};
  keeper->pool_settled(pool);
  doors->watch(false);
  ASSERT_TRUE(loop.run_until([&] { return link.passed.size() == 1; }));
  EXPECT_EQ(read_now(link.passed.begin()->second.get()), "GET /hea");
}

TEST_F(IgnoredPathsTest, OneThatHangsUpInTheMiddleOfItsHeadIsForgotten) {
  for (void (Caller::*hang_up)() : {&Caller::reset, &Caller::hang_up, &Caller::says_no_more}) {
    Caller client(door);
    client.say("GET /hea");
    ASSERT_TRUE(loop.run_until([&] { return held() == 1; }));
    turn_for(5ms);
    (client.*hang_up)();
    EXPECT_TRUE(loop.run_until([&] { return held() == 0; }));
    EXPECT_EQ(told, 0);
  }
}
}  // namespace
}  // namespace moult
