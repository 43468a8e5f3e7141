// Real clients at real doors, which a real keeper takes in while nobody serves; workers are what the test says.
#include "master/connections/sleeping_doors.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <ctime>
#include <deque>

#include "tests/unit/connections/caller.h"
#include "tests/unit/connections/client_pair.h"
#include "tests/unit/connections/scratch.h"
#include "tests/unit/connections/scripted_link.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

const std::string request = "GET /page HTTP/1.1\r\nHost: x\r\n\r\n";

class SleepingDoorsTest : public testing::Test {
 protected:
  SleepingDoorsTest() { make({.most = 64, .keep_alive = 75s, .patience = 30s}); }
  ~SleepingDoorsTest() override {
    doors.reset();
    keeper.reset();
  }
  void make(const ParkingPolicy& policy) {
    doors.reset();
    keeper = std::make_unique<ConnectionKeeper>(
        loop.get(), policy, [this](WorkerId id) { return id == WorkerId{1} ? &link : nullptr; }, [] { return true; },
        WhileAsleep{.ignored_paths = {"/healthz"}});
    events = keeper->events();
    doors = std::make_unique<SleepingDoors>(
        loop.get(), *keeper, [this] { return std::vector{door.fd.get()}; }, [this] { return has_room; });
    doors->on_caller([this] { ++told; });
  }
  void serve(WorkerState state = WorkerState::serving) {
    pool.workers = {{.id = {1}, .slot = 0, .generation = {1}, .state = state}};
    if (state == WorkerState::serving) keeper->worker_serving(pool.workers.front(), 1);
    keeper->pool_settled(pool);
  }
  Caller& call() { return clients.emplace_back(door); }
  Caller& call_and_be_taken_in() {
    const std::size_t before = held();
    Caller& client = call();
    EXPECT_TRUE(loop.run_until([&] { return held() == before + 1; }));
    return client;
  }
  std::size_t held() const { return keeper->describe().held; }
  std::size_t callers() const { return keeper->describe().callers; }
  bool heard(Caller& client, const std::string& what) {
    return loop.run_until([&] { return client.heard().find(what) != std::string::npos; });
  }
  void turn_for(std::chrono::milliseconds time) {  // what must not happen has that long to happen
    const auto end = std::chrono::steady_clock::now() + time;
    loop.run_until([&] { return std::chrono::steady_clock::now() >= end; });
  }
  // The time that it computes for meanwhile.
  std::chrono::milliseconds work_in(std::chrono::milliseconds time) {
    const std::clock_t before = std::clock();
    turn_for(time);
    return std::chrono::milliseconds(1000 * (std::clock() - before) / CLOCKS_PER_SEC);
  }
  MonotonicTime in(Duration time) {
    uv_update_time(loop.get());
    return monotonic_now(loop.get()) + time;
  }
  bool somebody_is_at_the_door() const {
    return UniqueFd(::accept4(door.fd.get(), nullptr, nullptr, SOCK_CLOEXEC)).get() >= 0;
  }

  TestLoop loop;
  PublicDoor door = PublicDoor::tcp();
  Pool pool;
  std::vector<std::string> said;
  ScriptedLink link{said};
  bool has_room = true;
  int told = 0;
  ConnectionEvents events;
  std::unique_ptr<ConnectionKeeper> keeper;
  std::unique_ptr<SleepingDoors> doors;
  std::deque<Caller> clients;
};

TEST_F(SleepingDoorsTest, FiftyWhoSpeakAreOneCallAndEachIsGivenToTheWorkerOfTheWake) {
  doors->watch(true);
  for (int i = 0; i < 50; ++i) call();
  ASSERT_TRUE(loop.run_until([&] { return held() == 50; }));
  turn_for(20ms);
  EXPECT_EQ(told, 0) << "a bare connect wakes nobody";
  for (Caller& each : clients) each.say(request);
  ASSERT_TRUE(loop.run_until([&] { return callers() == 50; }));
  turn_for(20ms);
  EXPECT_EQ(told, 1);
  serve();
  doors->watch(false);
  ASSERT_EQ(link.passed.size(), 50u);
  for (auto& [id, fd] : link.passed) {
    EXPECT_EQ(read_now(fd.get()), request) << "unread";
    send_now(fd.get(), "answer");
    events.adopted({1}, id);
  }
  for (Caller& each : clients) EXPECT_TRUE(heard(each, "answer"));
  EXPECT_EQ(held(), 0u);
}

TEST_F(SleepingDoorsTest, NobodyIsToldFromInsideACall) {
  call().say(request);
  doors->watch(true);
  EXPECT_EQ(told, 0);
  EXPECT_TRUE(loop.run_until([&] { return told == 1; })) << "who had come and spoken before is somebody, too";
}

TEST_F(SleepingDoorsTest, WhoWasParkedBeforeAndSpeaksIsACaller) {
  serve();
  ClientPair client = ClientPair::tcp();
  events.stored({1}, 1, client.copy_of_server());
  client.server.reset();
  serve(WorkerState::retiring);
  doors->watch(true);
  turn_for(20ms);
  EXPECT_EQ(told, 0);
  client.say(request);
  EXPECT_TRUE(loop.run_until([&] { return told == 1; }));
}

TEST_F(SleepingDoorsTest, WhoWaitsForAWorkerAlreadyIsTold) {
  serve();
  ClientPair client = ClientPair::tcp();
  events.stored({1}, 1, client.copy_of_server());
  client.server.reset();
  serve(WorkerState::retiring);
  client.say(request);
  ASSERT_TRUE(loop.run_until([&] { return callers() == 1; }));
  EXPECT_EQ(told, 0);
  doors->watch(true);
  EXPECT_TRUE(loop.run_until([&] { return told == 1; }));
}

TEST_F(SleepingDoorsTest, ACallerWhomAWorkerTakesIsNoneToWakeFor) {
  serve();
  doors->watch(true);
  call_and_be_taken_in().say(request);
  ASSERT_TRUE(loop.run_until([&] { return link.passed.size() == 1; }));
  turn_for(20ms);
  EXPECT_EQ(told, 0);
}

TEST_F(SleepingDoorsTest, AHealthCheckThatConnectsAndClosesWakesNobody) {
  doors->watch(true);
  for (int i = 0; i < 20; ++i) {
    Caller& polite = call_and_be_taken_in();
    polite.hang_up();
    ASSERT_TRUE(loop.run_until([&] { return held() == 0; }));
    Caller& rude = call_and_be_taken_in();
    rude.reset();
    ASSERT_TRUE(loop.run_until([&] { return held() == 0; }));
  }
  for (int i = 0; i < 20; ++i) call().hang_up();  // before anybody looks
  turn_for(20ms);
  EXPECT_EQ(held(), 0u);
  EXPECT_EQ(told, 0);
}

TEST_F(SleepingDoorsTest, AfterTheWakeTheMasterAcceptsNoMoreAndWhoIsParkedStays) {
  doors->watch(true);
  Caller& early = call_and_be_taken_in();
  serve();
  doors->watch(false);
  call();
  turn_for(20ms);
  EXPECT_EQ(held(), 1u);
  EXPECT_TRUE(somebody_is_at_the_door());
  early.say(request);
  ASSERT_TRUE(loop.run_until([&] { return link.passed.size() == 1; })) << "it is offered when it speaks";
  EXPECT_EQ(told, 0);
}

TEST_F(SleepingDoorsTest, KeepAliveStandsStillWhileItSleepsAndStartsAnewAtTheWake) {
  make({.most = 64, .keep_alive = 60ms, .patience = 30s});
  doors->watch(true);
  Caller& client = call_and_be_taken_in();
  turn_for(150ms);
  EXPECT_EQ(held(), 1u);
  EXPECT_FALSE(client.ended());
  doors->watch(false);
  EXPECT_EQ(held(), 1u);
  ASSERT_TRUE(loop.run_until([&] { return client.ended(); }));
}

TEST_F(SleepingDoorsTest, ACallerWaitsLongerThanOurPatienceForTheWake) {
  make({.most = 64, .keep_alive = 75s, .patience = 30ms});
  doors->watch(true);
  Caller& client = call_and_be_taken_in();
  client.say(request);
  ASSERT_TRUE(loop.run_until([&] { return told == 1; }));
  turn_for(100ms);
  EXPECT_EQ(client.heard(), "");
  EXPECT_EQ(callers(), 1u);
  serve();
  EXPECT_EQ(link.passed.size(), 1u);
}

TEST_F(SleepingDoorsTest, WhoComesWhenNoMoreCanBeParkedWaitsOutsideAndIsACaller) {
  make({.most = 2, .keep_alive = 75s, .patience = 30s});
  EXPECT_TRUE(doors->has_room_for(2));
  EXPECT_FALSE(doors->has_room_for(3));
  doors->watch(true);
  Caller& first = call_and_be_taken_in();
  call_and_be_taken_in();
  turn_for(20ms);
  EXPECT_EQ(told, 0);
  call();
  ASSERT_TRUE(loop.run_until([&] { return told == 1; }));
  EXPECT_LT(work_in(60ms), 30ms) << "nobody spins";
  EXPECT_EQ(told, 1) << "once";
  EXPECT_EQ(held(), 2u);
  first.hang_up();
  EXPECT_TRUE(loop.run_until([&] { return held() == 2 && keeper->describe().counts.accepted == 3; }))
      << "there is room";
  EXPECT_FALSE(somebody_is_at_the_door());
}

TEST_F(SleepingDoorsTest, WhoWaitedOutsideIsTheWorkersAfterTheWake) {
  make({.most = 1, .keep_alive = 75s, .patience = 30s});
  doors->watch(true);
  call_and_be_taken_in();
  call();
  ASSERT_TRUE(loop.run_until([&] { return told == 1; }));
  doors->watch(false);
  EXPECT_TRUE(somebody_is_at_the_door());
}

TEST_F(SleepingDoorsTest, WithoutADescriptorForAClientItWaitsOutsideAndIsACaller) {
  doors->watch(true);
  has_room = false;
  call();
  ASSERT_TRUE(loop.run_until([&] { return told == 1; }));
  EXPECT_EQ(held(), 0u);
  EXPECT_TRUE(somebody_is_at_the_door());
}

// The limit of the process itself: all that is needed has been opened before.
TEST_F(SleepingDoorsTest, WhereTheKernelGivesNoDescriptorItIsTheSameAndNobodySpins) {
  doors->watch(true);
  call_and_be_taken_in();
  call();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest_free = UniqueFd(::dup(0)).get();
  const rlimit full{static_cast<rlim_t>(lowest_free), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &full), 0);
  const bool was_told = loop.run_until([&] { return told == 1; });
  const auto work = work_in(60ms);
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(was_told);
  EXPECT_EQ(told, 1);
  EXPECT_LT(work, 30ms);
  EXPECT_EQ(held(), 1u);
  doors->refuse(in(5ms));  // a wake that failed
  EXPECT_TRUE(loop.run_until([&] { return held() == 2; })) << "now there is one";
}

TEST_F(SleepingDoorsTest, WhatWorkersDoNotTakeIsNotOursToAccept) {
  link.open = false;  // TLS ended in the worker, say
  serve();
  serve(WorkerState::retiring);
  doors->watch(true);
  turn_for(20ms);
  EXPECT_EQ(told, 0);
  call();
  ASSERT_TRUE(loop.run_until([&] { return told == 1; })) << "nobody can hear whether it speaks";
  EXPECT_EQ(held(), 0u);
  EXPECT_TRUE(somebody_is_at_the_door());
}

TEST_F(SleepingDoorsTest, WithoutRoomForAnyWhoeverConnectsIsACaller) {
  make({.most = 0, .keep_alive = 75s, .patience = 30s});
  doors->watch(true);
  call();
  EXPECT_TRUE(loop.run_until([&] { return told == 1; }));
}

TEST_F(SleepingDoorsTest, AHundredCallersInARefusalAreEachToldWhenToComeAgainAndNobodyElseIsTold) {
  make({.most = 200, .keep_alive = 75s, .patience = 30s});
  doors->watch(true);
  Caller& waited = call_and_be_taken_in();
  waited.say(request);
  ASSERT_TRUE(loop.run_until([&] { return told == 1; }));
  doors->refuse(in(4500ms));
  EXPECT_TRUE(heard(waited, "\r\nRetry-After: 5\r\n")) << "whoever waited";
  for (int i = 0; i < 100; ++i) call().say("POST /order HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello");
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(loop.run_until([&] { return std::ranges::all_of(clients, [](Caller& each) { return each.ended(); }); }));
  EXPECT_LT(std::chrono::steady_clock::now() - began, 2s);  // 50 ms each, on a machine that has nothing else to do
  for (Caller& each : clients) {
    EXPECT_THAT(each.heard(), AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("\r\nConnection: close\r\n"),
                                    HasSubstr("\r\n\r\nNo worker is ready.")));
    EXPECT_FALSE(each.was_reset);
  }
  EXPECT_EQ(told, 1);
  EXPECT_EQ(held(), 0u);
}

TEST_F(SleepingDoorsTest, WhoSpeaksAfterARefusalIsTold) {
  doors->watch(true);
  Caller &first = call_and_be_taken_in(), &second = call_and_be_taken_in();
  first.say(request);
  ASSERT_TRUE(loop.run_until([&] { return told == 1; }));
  doors->refuse(in(50ms));
  EXPECT_TRUE(heard(first, "\r\nRetry-After: 1\r\n"));
  turn_for(60ms);
  EXPECT_EQ(told, 1);
  second.say(request);
  EXPECT_TRUE(loop.run_until([&] { return told == 2; }));
  EXPECT_EQ(second.heard(), "");
}

TEST_F(SleepingDoorsTest, WhoWaitsOutsideIsToldOfAgainWhenTheRefusalHasEnded) {
  make({.most = 1, .keep_alive = 75s, .patience = 30s});
  doors->watch(true);
  call_and_be_taken_in();
  call();
  ASSERT_TRUE(loop.run_until([&] { return told == 1; }));
  const auto end = std::chrono::steady_clock::now() + 80ms;
  doors->refuse(in(80ms));
  ASSERT_TRUE(loop.run_until([&] { return told == 2; }));
  EXPECT_GE(std::chrono::steady_clock::now(), end - 2ms);
}

TEST_F(SleepingDoorsTest, ARefusalMayBeTakenBack) {
  doors->watch(true);
  Caller& client = call_and_be_taken_in();
  doors->refuse(in(30s));
  doors->admit();
  client.say(request);
  EXPECT_TRUE(loop.run_until([&] { return told == 1; }));
  EXPECT_EQ(client.heard(), "");
}

TEST_F(SleepingDoorsTest, ItsWatchEndsARefusal) {
  doors->watch(true);
  Caller& client = call_and_be_taken_in();
  doors->refuse(in(30s));
  serve();
  doors->watch(false);
  client.say(request);
  EXPECT_TRUE(loop.run_until([&] { return link.passed.size() == 1; }));
  serve(WorkerState::retiring);
  doors->watch(true);
  call_and_be_taken_in().say(request);
  EXPECT_TRUE(loop.run_until([&] { return told == 1; }));
}

TEST_F(SleepingDoorsTest, UnixDoorsAreLikeOthers) {
  Scratch scratch;
  door = PublicDoor::unix_path(scratch.file("door"));
  doors->watch(true);
  Caller& client = call_and_be_taken_in();
  call_and_be_taken_in().hang_up();
  ASSERT_TRUE(loop.run_until([&] { return held() == 1; }));
  client.say("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(heard(client, "ok\n"));
  EXPECT_EQ(told, 0);
  client.say(request);
  EXPECT_TRUE(loop.run_until([&] { return told == 1; }));
  doors->refuse(in(5s));
  EXPECT_TRUE(heard(client, "HTTP/1.1 503 "));
}

TEST_F(SleepingDoorsTest, BothMayEndWhileSomebodyWaits) {
  doors->watch(true);
  call_and_be_taken_in().say(request);
  call();
  ASSERT_TRUE(loop.run_until([&] { return callers() == 1; }));
}
}  // namespace
}  // namespace moult
