// Nobody sleeps or stops before what was sent has arrived; and what a worker cannot close without a loss closes here.
#include "master/connections/delivery_at_stop.h"

#include <gmock/gmock.h>

#include "tests/unit/connections/client_pair.h"
#include "tests/unit/connections/far_client.h"
#include "tests/unit/connections/own_network.h"
#include "tests/unit/connections/scripted_link.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

struct Heard final : DeliveryObserver {
  std::vector<std::string> said;
  void lingers_aborted(const LingersAborted& e) override {
    said.push_back(std::to_string(e.connections) + " aborted before a " + name(e.why));
  }
  void failed_closed(const FailedClosed& e) override {
    said.push_back(std::to_string(e.connections) + " left before a " + name(e.why) + ": " + e.cause);
  }
  void stop_waits(const StopWaits& e) override { said.push_back(std::to_string(e.connections) + " waited for"); }
};

// One Delivery on a loop of its own, so that it can also live in a thread with fewer rights.
struct Delivering {
  TestLoop loop;
  Heard heard;
  std::vector<std::string> told_worker;
  ScriptedLink link{told_worker};
  bool room = true;
  int parked = -1;  // a descriptor
  std::unique_ptr<Delivery> delivery;
  std::unique_ptr<DeliveryAtStop> at_stop;
  std::optional<DeliveryVerdict> verdict;
  std::unique_ptr<DeliveryWatch> watch;
  bool stopped = false;

  Delivering(const TestDoor& door, Duration patience) {
    const std::vector<TcpDoor> doors{*tcp_door(door.listener.get())};
    delivery = std::make_unique<Delivery>(
        loop.get(), doors, DeliveryPolicy{patience},
        DeliveryParts{.link = [this](WorkerId id) { return id == WorkerId{1} ? &link : nullptr; },
                      .room = [this] { return room; },
                      .parked = [this](std::uint64_t inode) { return is(parked, inode) ? parked : -1; },
                      .observer = &heard});
    at_stop = std::make_unique<DeliveryAtStop>(loop.get(), *delivery, heard);
  }
  static bool is(int fd, std::uint64_t inode) {
    struct stat known {};
    return fd >= 0 && ::fstat(fd, &known) == 0 && known.st_ino == inode;
  }
  void begin(DeliveryWish why) {
    watch = delivery->watch(why, [this](DeliveryVerdict is) { verdict = is; });
  }
  bool until(DeliveryVerdict wanted) {
    return loop.run_until([&] { return verdict.has_value(); }) && verdict == wanted;
  }
  bool until(const std::function<bool(const DeliveryDescription&)>& happened) {
    return loop.run_until([&] { return happened(delivery->describe()); });
  }
  void stop() {
    at_stop->wait([this] { stopped = true; });
  }
  bool until_stopped() {
    return loop.run_until([&] { return stopped; });
  }
  bool sums() const {
    const DeliveryDescription d = delivery->describe();
    const LingerCounts& c = d.counts;
    return c.begun == c.delivered + c.reset + c.aborted + c.fail_closed + c.undelivered + d.watched;
  }
};

class DeliveryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = FarClient::why_not(); !why.empty()) GTEST_SKIP() << why;
  }
  FarClient deaf_client() {
    FarClient client = door.call();
    client.deafen();
    client.answer("an answer");
    return client;
  }
  bool may_destroy() {
    const TestDoor other;
    FarClient client = other.call();
    client.deafen();
    client.answer("x");
    const auto found = undelivered_at({*tcp_door(other.listener.get())});
    return found && found->size() == 1 && destroy(found->front()) == AbortAnswer::done;
  }
  TestDoor door;
};

TEST_F(DeliveryTest, WithNothingOnItsWayTheVerdictComesAtOnceButNotFromInside) {
  Delivering d(door, 5min);
  FarClient idle = door.call();
  EXPECT_EQ(d.delivery->undelivered(), 0u);
  d.begin(DeliveryWish::before_sleep);
  EXPECT_FALSE(d.verdict);
  uv_run(d.loop.get(), UV_RUN_NOWAIT);
  EXPECT_EQ(d.verdict, DeliveryVerdict::delivered);
}

TEST_F(DeliveryTest, ItWaitsForTailsOfWorkersAndForWhatClosesHereAndCountsEachOnce) {
  Delivering d(door, 5min);
  FarClient of_a_worker = deaf_client(), closing = deaf_client();
  d.delivery->close({1}, 7, std::move(closing.server));
  EXPECT_THAT(d.told_worker, ElementsAre("CLOSES=7"));
  EXPECT_EQ(d.delivery->undelivered(), 2u);
  d.begin(DeliveryWish::before_sleep);
  EXPECT_EQ(d.delivery->describe().watched, 2u);
  EXPECT_EQ(d.delivery->describe().counts.begun, 2u);
  of_a_worker.hear_again();
  ASSERT_TRUE(d.until([](const auto& is) { return is.watched == 1; }));
  EXPECT_FALSE(d.verdict);
  closing.hear_again();
  EXPECT_TRUE(d.until(DeliveryVerdict::delivered));
  EXPECT_EQ(d.delivery->describe().counts.delivered, 2u);
  EXPECT_TRUE(d.sums());
}

TEST_F(DeliveryTest, ATailThatComesToCloseHereWhileItIsWatchedIsStillOne) {
  Delivering d(door, 5min);
  FarClient client = deaf_client();
  d.begin(DeliveryWish::before_stop);
  ASSERT_EQ(d.delivery->describe().watched, 1u);
  d.delivery->close({1}, 1, std::move(client.server));
  ASSERT_TRUE(d.until([](const auto& is) { return is.counts.begun == 1; }));
  EXPECT_EQ(d.delivery->describe().watched, 1u);
  EXPECT_EQ(d.delivery->describe().counts.reset, 0u);
  client.hear_again();
  EXPECT_TRUE(d.until(DeliveryVerdict::delivered));
  EXPECT_EQ(d.delivery->describe().counts.delivered, 1u);
  EXPECT_TRUE(d.sums());
}

TEST_F(DeliveryTest, APeersResetReleasesAtOnce) {
  Delivering d(door, 5min);
  FarClient tail = door.call(), closing = door.call();
  tail.fill();
  closing.fill();
  d.delivery->close({1}, 1, std::move(closing.server));
  d.begin(DeliveryWish::before_stop);
  tail.reset();
  closing.reset();
  EXPECT_TRUE(d.until(DeliveryVerdict::delivered));
  EXPECT_EQ(d.delivery->describe().counts.reset, 2u);
}

TEST_F(DeliveryTest, StalledOnesAreAbortedInTimeAndItIsSaid) {
  if (!may_destroy()) GTEST_SKIP() << "no right to destroy sockets, or the kernel cannot";
  Delivering d(door, 100ms);
  FarClient of_a_worker = deaf_client(), orphan = deaf_client(), closing = deaf_client();
  orphan.server.reset();
  d.delivery->close({1}, 1, std::move(closing.server));
  d.begin(DeliveryWish::before_stop);
  EXPECT_TRUE(d.until(DeliveryVerdict::delivered));
  EXPECT_EQ(d.delivery->describe().counts.aborted, 3u);
  std::uint64_t said = 0;
  for (const std::string& each : d.heard.said) {
    EXPECT_THAT(each, testing::EndsWith(" aborted before a stop"));
    said += std::stoul(each);
  }
  EXPECT_EQ(said, 3u);
  EXPECT_TRUE(d.sums());
}

TEST_F(DeliveryTest, WhatClosesHereStallsButIsNotAbortedWhileNobodyStopsOrSleeps) {
  Delivering d(door, 50ms);
  FarClient client = deaf_client();
  d.delivery->close({1}, 1, std::move(client.server));
  ASSERT_TRUE(d.until([](const auto& is) { return is.stalled == 1; }));
  EXPECT_EQ(d.delivery->describe().watched, 1u);
  d.begin(DeliveryWish::before_sleep);
  EXPECT_TRUE(d.until(DeliveryVerdict::delivered));
  EXPECT_THAT(d.heard.said, ElementsAre("1 aborted before a sleep"));
}

TEST_F(DeliveryTest, WithoutTheRightTheSleepFailsClosedAtTheFirstAndTheStopWhenNothingElseIsLeft) {
  FarClient stalled = deaf_client(), slow = deaf_client();
  as_nobody([&] {
    Delivering d(door, 150ms);
    d.begin(DeliveryWish::before_sleep);
    EXPECT_TRUE(d.until(DeliveryVerdict::fail_closed));
    EXPECT_GE(d.delivery->describe().fail_closed, 1u);
    d.watch.reset();
    EXPECT_GE(d.delivery->describe().fail_closed, 1u) << "it is still so";
    EXPECT_TRUE(d.sums());
    d.stop();
    EXPECT_TRUE(d.until_stopped());
    EXPECT_THAT(d.heard.said, ElementsAre("2 left before a stop: not_permitted"));
    stalled.hear_again();
    slow.hear_again();
    EXPECT_TRUE(d.loop.run_until([&] { return d.delivery->undelivered() == 0; }));
    EXPECT_EQ(d.delivery->describe().fail_closed, 0u);
  });
}

TEST_F(DeliveryTest, AStalledOneThatIsParkedIsAbortedWithoutAnyRight) {
  FarClient parked = deaf_client();
  as_nobody([&] {
    Delivering d(door, 100ms);
    d.parked = parked.server.get();
    d.begin(DeliveryWish::before_sleep);
    EXPECT_TRUE(d.until(DeliveryVerdict::delivered));
    EXPECT_EQ(d.delivery->describe().counts.aborted, 1u);
    EXPECT_EQ(read_now(parked.server.get()), "") << "its keeper finds it at its end";
    EXPECT_TRUE(d.sums());
  });
}

TEST_F(DeliveryTest, AWatchThatEndsTellsNobodyAndCountsWhatItLeaves) {
  Delivering d(door, 5min);
  FarClient client = deaf_client();
  d.begin(DeliveryWish::before_sleep);
  d.watch.reset();
  client.hear_again();
  ASSERT_TRUE(d.loop.run_until([&] { return d.delivery->undelivered() == 0; }));
  EXPECT_FALSE(d.verdict);
  EXPECT_EQ(d.delivery->describe().counts.undelivered, 1u);
  EXPECT_TRUE(d.sums());
}

TEST_F(DeliveryTest, AStopBesideASleepThatIsAskedForHasItsOwnVerdict) {
  Delivering d(door, 5min);
  FarClient client = deaf_client();
  d.begin(DeliveryWish::before_sleep);
  d.stop();
  d.watch.reset();  // the stop supersedes it
  EXPECT_EQ(d.delivery->describe().watched, 1u);
  client.hear_again();
  EXPECT_TRUE(d.until_stopped());
  EXPECT_FALSE(d.verdict);
  EXPECT_EQ(d.delivery->describe().counts.delivered, 1u);
}

TEST_F(DeliveryTest, WhatIsNoConnectionOrFindsNoRoomStaysTheWorkers) {
  Delivering d(door, 5min);
  d.delivery->close({1}, 1, UniqueFd());
  d.delivery->close({1}, 2, UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC)));
  d.room = false;
  FarClient client = door.call();
  d.delivery->close({1}, 3, std::move(client.server));
  d.delivery->close({2}, 4, UniqueFd());  // it is gone
  EXPECT_THAT(d.told_worker, ElementsAre("DECLINED=1", "DECLINED=2", "DECLINED=3"));
  EXPECT_EQ(d.delivery->describe().declined, 4u);
  EXPECT_EQ(d.delivery->describe().counts.begun, 0u);
}

TEST_F(DeliveryTest, SwitchedOffNobodyWaitsAndNothingIsTaken) {
  Delivering d(door, 0ms);
  FarClient client = deaf_client(), closing = deaf_client();
  d.delivery->close({1}, 1, std::move(closing.server));
  EXPECT_THAT(d.told_worker, ElementsAre("DECLINED=1"));
  EXPECT_EQ(d.delivery->undelivered(), 0u);
  d.begin(DeliveryWish::before_sleep);
  EXPECT_TRUE(d.until(DeliveryVerdict::delivered));
  d.stop();
  EXPECT_TRUE(d.until_stopped());
  EXPECT_THAT(d.heard.said, IsEmpty());
}

TEST_F(DeliveryTest, Of300ThatCloseAtOnce256AreWatchedAndTheOthersCounted) {
  Delivering d(door, 5min);
  std::vector<FarClient> clients;
  for (std::uint64_t i = 1; i <= 300; ++i) {
    clients.push_back(deaf_client());
    d.delivery->close({1}, i, std::move(clients.back().server));
  }
  EXPECT_EQ(d.delivery->describe().watched, 256u);
  EXPECT_EQ(d.delivery->describe().counts.begun, 300u);
  EXPECT_EQ(d.delivery->describe().counts.undelivered, 44u);
  for (FarClient& each : clients) each.hear_again();
  ASSERT_TRUE(d.until([](const auto& is) { return is.watched == 0; }));
  EXPECT_TRUE(d.sums());
  clients.clear();
  EXPECT_TRUE(d.until([](const auto& is) { return is.closing == 0; })) << "back where it began";
}

TEST_F(DeliveryTest, AnUnixSocketClosesHereToo) {
  Delivering d(door, 5min);
  ClientPair pair = ClientPair::unix_stream();
  pair.say("more than the worker wanted");
  send_now(pair.server.get(), "an answer");
  d.delivery->close({1}, 1, std::move(pair.server));
  ASSERT_TRUE(d.loop.run_until([&] { return pair.ended(); }));
  EXPECT_EQ(pair.heard(), "an answer");
}

// --- at a stop

TEST_F(DeliveryTest, AStopWithNothingOnItsWayIsOverInATurnOfTheLoopAndSaysNothing) {
  Delivering d(door, 5min);
  d.stop();
  uv_run(d.loop.get(), UV_RUN_NOWAIT);
  EXPECT_TRUE(d.stopped);
  EXPECT_THAT(d.heard.said, IsEmpty());
}

TEST_F(DeliveryTest, AStopWaitsAndSaysSoWhenItTakesLonger) {
  Delivering d(door, 5min);
  FarClient client = deaf_client();
  client.server.reset();
  d.stop();
  ASSERT_TRUE(d.loop.run_until([&] { return !d.heard.said.empty(); }));
  EXPECT_FALSE(d.stopped);
  EXPECT_THAT(d.heard.said, ElementsAre("1 waited for"));
  client.hear_again();
  EXPECT_TRUE(d.until_stopped());
  EXPECT_EQ(client.read(), "an answer");
  EXPECT_EQ(d.heard.said.size(), 1u);
}

TEST_F(DeliveryTest, AStopThatIsToldAgainLeavesAndSaysWhatItLeaves) {
  Delivering d(door, 5min);
  FarClient client = deaf_client();
  d.at_stop->enough();  // before it waits this means nothing
  d.stop();
  EXPECT_FALSE(d.stopped);
  d.at_stop->enough();
  EXPECT_TRUE(d.stopped);
  EXPECT_THAT(d.heard.said, ElementsAre("1 left before a stop: operator"));
  d.at_stop->enough();
  EXPECT_TRUE(d.sums());
}

TEST_F(DeliveryTest, AQuickStopWaitsForNothing) {
  Delivering d(door, 5min);
  FarClient client = deaf_client();
  d.at_stop->forgo();
  d.stop();
  EXPECT_TRUE(d.stopped);
}

// It takes a little all the time, so that it never stalls, and there is always more.
TEST_F(DeliveryTest, AStopLeavesAfterItsMaximumHoweverMuchProgressThereIs) {
  constexpr Duration patience = 1500ms;  // the kernel's own timers take 200 ms
  Delivering d(door, patience);
  FarClient client = door.call();
  client.fill();
  d.stop();
  const auto began = std::chrono::steady_clock::now();
  auto took_at = began;
  ASSERT_TRUE(d.loop.run_until([&] {
    const auto now = std::chrono::steady_clock::now();
    if (now - took_at > 100ms) {
      took_at = now;
      client.read(24 * 1024);
      client.fill();
    }
    return d.stopped;
  }));
  EXPECT_GE(std::chrono::steady_clock::now() - began, DeliveryAtStop::most_patiences * patience - 200ms);
  EXPECT_THAT(d.heard.said, ElementsAre("1 waited for", "1 left before a stop: maximum"));
  EXPECT_TRUE(d.sums());
}
}  // namespace
}  // namespace moult
