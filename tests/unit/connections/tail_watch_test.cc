// Before a sleep and at a stop: nothing that workers sent is on its way any more, or it is said why that is not so.
#include "master/connections/tail_watch.h"

#include <gmock/gmock.h>

#include "tests/unit/connections/client_pair.h"
#include "tests/unit/connections/far_client.h"
#include "tests/unit/connections/own_network.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

class TailWatchTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!door.is_open()) GTEST_SKIP() << "cannot listen on " << GetParam();
    if (const std::string why = FarClient::why_not(); !why.empty()) GTEST_SKIP() << why;
    make({});
  }
  void make(const TailPolicy& policy) {
    watch = std::make_unique<TailWatch>(loop.get(), std::vector{*tcp_door(door.listener.get())}, policy);
  }
  TailPolicy impatient() const {
    TailPolicy policy;
    policy.linger.patience = 100ms;
    return policy;
  }
  bool until(TailVerdict wanted) {
    return loop.run_until([&] { return watch->verdict() == wanted; });
  }
  bool until(const std::function<bool(const TailDescription&)>& happened) {
    return loop.run_until([&] { return happened(watch->describe()); });
  }
  FarClient deaf_client() {
    FarClient client = door.call();
    client.deafen();
    client.answer("an answer");
    return client;
  }
  static bool may_destroy() {
    const TestDoor other;
    FarClient client = other.call();
    client.deafen();
    client.answer("x");
    const auto found = undelivered_at({*tcp_door(other.listener.get())});
    return found && found->size() == 1 && destroy(found->front()) == AbortAnswer::done;
  }
  const LingerCounts counts() const { return watch->describe().counts; }

  TestDoor door{GetParam()};
  TestLoop loop;
  std::unique_ptr<TailWatch> watch;
};
INSTANTIATE_TEST_SUITE_P(V4AndV6, TailWatchTest, testing::Values("127.0.0.1", "::1"),
                         [](const auto& tested) { return std::string(tested.param) == "::1" ? "v6" : "v4"; });

TEST_P(TailWatchTest, WithNothingOnItsWayTheFirstLookSaysSo) {
  FarClient idle = door.call();
  EXPECT_EQ(watch->verdict(), TailVerdict::underway) << "nobody has looked";
  watch->begin(true);
  EXPECT_EQ(watch->verdict(), TailVerdict::delivered);
  EXPECT_EQ(watch->describe().trouble, "");
}

TEST_P(TailWatchTest, WhatALiveWorkerSentHoldsTheVerdictUntilItsLastByteIsAcknowledged) {
  FarClient client = door.call();
  const std::size_t sent = client.fill();
  watch->begin(true);
  EXPECT_EQ(watch->verdict(), TailVerdict::underway);
  std::size_t heard = 0;
  ASSERT_TRUE(loop.run_until([&] {
    if (watch->verdict() == TailVerdict::delivered) return true;
    heard += client.read(16 * 1024).size();
    return false;
  }));
  heard += client.read().size();
  EXPECT_EQ(heard, sent);
  EXPECT_EQ(counts().delivered, 1u);
}

TEST_P(TailWatchTest, WhatWorkersSentThatAreGoneHoldsItToo) {
  FarClient client = deaf_client(), open = deaf_client();
  client.server.reset();
  watch->begin(true);
  EXPECT_EQ(watch->describe().watched, 2u);
  open.hear_again();
  ASSERT_TRUE(until([](const auto& d) { return d.watched == 1; }));
  EXPECT_EQ(watch->verdict(), TailVerdict::underway);
  client.hear_again();
  EXPECT_TRUE(until(TailVerdict::delivered));
  EXPECT_EQ(counts().delivered, 2u);
}

TEST_P(TailWatchTest, APeersResetReleases) {
  FarClient live = door.call(), orphaned = door.call();
  live.fill();
  orphaned.fill();
  orphaned.server.reset();
  watch->begin(true);
  EXPECT_EQ(watch->describe().watched, 2u);
  live.reset();
  orphaned.reset();
  EXPECT_TRUE(until(TailVerdict::delivered));
  EXPECT_EQ(counts().reset, 2u);
  EXPECT_EQ(counts().delivered, 0u);
}

TEST_P(TailWatchTest, StalledOnesOfLiveWorkersAndOfThoseGoneAreAborted) {
  if (!may_destroy()) GTEST_SKIP() << "no right to destroy sockets, or the kernel cannot";
  make(impatient());
  FarClient live = deaf_client(), orphaned = deaf_client();
  orphaned.server.reset();
  watch->begin(true);
  EXPECT_TRUE(until(TailVerdict::delivered));
  EXPECT_EQ(counts().aborted, 2u);
  EXPECT_EQ(counts().begun, 2u);
  EXPECT_EQ(::send(live.server.get(), "x", 1, MSG_NOSIGNAL), -1);
}

// It reads a little after each look, so that each finds progress however slow the machine is; and its worker sends on
// for a while, so that the queue is never shorter.
TEST_P(TailWatchTest, ASlowReaderThatMakesProgressIsNotAborted) {
  TailPolicy policy;
  policy.linger.patience = 1s;  // the kernel's own timers (delayed acknowledgements, probes) take 200 ms
  policy.linger.look_first = policy.linger.look_last = 150ms;
  make(policy);
  FarClient client = door.call();
  std::size_t sent = client.fill(), heard = 0;
  int refills = 6;
  watch->on_settled([&] {
    heard += client.read(24 * 1024).size();
    if (refills-- > 0) sent += client.fill();
  });
  const auto began = std::chrono::steady_clock::now();
  watch->begin(true);
  ASSERT_TRUE(loop.run_until([&] { return watch->verdict() != TailVerdict::underway; }));
  EXPECT_EQ(watch->verdict(), TailVerdict::delivered);
  EXPECT_GT(std::chrono::steady_clock::now() - began, policy.linger.patience);
  EXPECT_EQ(counts().aborted, 0u);
  heard += client.read().size();
  EXPECT_EQ(heard, sent);
  watch->on_settled(nullptr);
}

TEST_P(TailWatchTest, AStalledOneThatMayNotBeAbortedHoldsTheVerdict) {
  make(impatient());
  FarClient client = deaf_client();
  watch->begin(false);
  ASSERT_TRUE(until([](const auto& d) { return d.stalled == 1; }));
  EXPECT_EQ(watch->verdict(), TailVerdict::underway);
  EXPECT_EQ(watch->end(), 1u);
  EXPECT_EQ(counts().undelivered, 1u);
}

TEST_P(TailWatchTest, WithoutTheRightItFailsClosed) {
  FarClient client = deaf_client();
  as_nobody([&] {
    TestLoop own;
    TailWatch poor(own.get(), {*tcp_door(door.listener.get())}, impatient());
    poor.begin(true);
    EXPECT_EQ(poor.describe().watched, 1u);
    EXPECT_TRUE(own.run_until([&] { return poor.verdict() == TailVerdict::fail_closed; }));
    EXPECT_EQ(poor.describe().counts.fail_closed, 1u);
    client.hear_again();
    EXPECT_TRUE(own.run_until([&] { return poor.verdict() == TailVerdict::delivered; })) << "it ended after all";
    EXPECT_EQ(client.read(), "an answer");
  });
}

TEST_P(TailWatchTest, Of300TailsAreWatched256AndTheOthersHoldTheVerdictAllTheSame) {
  std::vector<FarClient> clients;
  for (int i = 0; i < 300; ++i) {
    clients.push_back(deaf_client());
    clients.back().server.reset();
  }
  watch->begin(false);
  EXPECT_EQ(watch->describe().watched, 256u);
  EXPECT_EQ(watch->describe().unwatched, 44u);
  for (FarClient& each : clients) each.hear_again();
  EXPECT_TRUE(until(TailVerdict::delivered));
  const LingerCounts c = counts();
  EXPECT_EQ(c.delivered + c.reset, c.begun);
  for (FarClient& each : clients) EXPECT_EQ(each.read(), "an answer");
}

TEST_P(TailWatchTest, The257thIsAbortedAtOnceWhereThatIsAllowed) {
  if (!may_destroy()) GTEST_SKIP() << "no right to destroy sockets, or the kernel cannot";
  std::vector<FarClient> clients;
  for (int i = 0; i < 257; ++i) clients.push_back(deaf_client());
  watch->begin(true);
  EXPECT_EQ(watch->describe().watched, 256u);
  EXPECT_EQ(watch->describe().unwatched, 0u);
  EXPECT_EQ(counts().aborted, 1u);
}

TEST_P(TailWatchTest, WhoListensHearsOfTheVerdict) {
  FarClient client = deaf_client();
  bool delivered = false;
  watch->on_settled([&] { delivered = watch->verdict() == TailVerdict::delivered; });
  watch->begin(true);
  client.hear_again();
  EXPECT_TRUE(loop.run_until([&] { return delivered; }));
}

TEST(TailWatchThatCannotLookTest, FailsClosedAndSaysWhy) {
  TestLoop loop;
  const TestDoor door;
  TailPolicy policy;
  policy.most_failed_looks = 3;
  TailWatch watch(loop.get(), {TcpDoor{.family = 255, .port = door.port()}}, policy);
  watch.begin(true);
  EXPECT_EQ(watch.verdict(), TailVerdict::underway);
  EXPECT_TRUE(loop.run_until([&] { return watch.verdict() == TailVerdict::fail_closed; }));
  EXPECT_THAT(watch.describe().trouble, testing::HasSubstr("cannot look at the connections of workers: "));
}

TEST(TailWatchOverACutLineTest, IsUnderwayUntilTheLineIsThereAgain) {
  const std::string why_not = in_own_network([] {
    set_loopback(true);
    const TestDoor door;
    TestLoop loop;
    TailWatch watch(loop.get(), {*tcp_door(door.listener.get())}, {});
    FarClient live = door.call(), orphaned = door.call();
    set_loopback(false);
    live.answer("an answer");
    orphaned.answer("an answer");
    orphaned.server.reset();
    watch.begin(true);
    EXPECT_EQ(watch.describe().watched, 2u);
    set_loopback(true);
    EXPECT_TRUE(loop.run_until([&] { return watch.verdict() == TailVerdict::delivered; }));
    EXPECT_EQ(watch.describe().counts.delivered, 2u);
    EXPECT_EQ(live.read(), "an answer");
    EXPECT_EQ(orphaned.read(), "an answer");
  });
  if (!why_not.empty()) GTEST_SKIP() << why_not;
}
}  // namespace
}  // namespace moult
