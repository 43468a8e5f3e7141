// Connections with unread input that close here: the client hears everything, whatever it still says.
#include "master/connections/closing_connections.h"

#include <gmock/gmock.h>

#include "tests/unit/connections/client_pair.h"
#include "tests/unit/connections/far_client.h"
#include "tests/unit/connections/own_network.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

class ClosingConnectionsTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!door.is_open()) GTEST_SKIP() << "cannot listen on " << GetParam();
    if (const std::string why = FarClient::why_not(); !why.empty()) GTEST_SKIP() << why;
    make({});
  }
  void make(const ClosingPolicy& policy) { closing = std::make_unique<ClosingConnections>(loop.get(), policy); }
  ClosingPolicy impatient(Duration patience = 100ms) const {
    ClosingPolicy policy;
    policy.linger.patience = patience;
    return policy;
  }
  // A client with an answer that it has not read, and a word that nobody has.
  FarClient answered(const std::string& answer = "an answer") {
    FarClient client = door.call();
    client.say("more than the worker wanted");
    client.answer(answer);
    return client;
  }
  bool hears_all(FarClient& client, std::size_t bytes) {
    std::size_t heard = 0;
    return loop.run_until([&] {
      heard += client.read().size();
      return client.met != FarClient::Met::nothing;
    }) && client.met == FarClient::Met::end &&
           heard == bytes;
  }
  bool until(const std::function<bool(const ClosingDescription&)>& happened) {
    return loop.run_until([&] { return happened(closing->describe()); });
  }

  TestDoor door{GetParam()};
  TestLoop loop;
  std::unique_ptr<ClosingConnections> closing;
};
INSTANTIATE_TEST_SUITE_P(V4AndV6, ClosingConnectionsTest, testing::Values("127.0.0.1", "::1"),
                         [](const auto& tested) { return std::string(tested.param) == "::1" ? "v6" : "v4"; });

// What all this is for: the same without it.
TEST_P(ClosingConnectionsTest, AloneACloseWithUnreadInputCutsTheAnswerOff) {
  FarClient client = door.call();
  client.say("more than the worker wanted");
  const std::size_t sent = client.fill();
  client.server.reset();
  EXPECT_FALSE(hears_all(client, sent));
  EXPECT_EQ(client.met, FarClient::Met::reset);
}

TEST_P(ClosingConnectionsTest, TheClientHearsAllAndThenTheEnd) {
  FarClient client = door.call();
  client.say("more than the worker wanted");
  const std::size_t sent = client.fill();
  closing->close(std::move(client.server));
  EXPECT_EQ(closing->describe().undelivered, 1u);
  EXPECT_TRUE(hears_all(client, sent));
  EXPECT_TRUE(until([](const auto& d) { return d.counts.delivered == 1; }));
  EXPECT_EQ(closing->describe().held, 1u) << "until it hangs up";
  client.client.reset();
  EXPECT_TRUE(until([](const auto& d) { return d.held == 0; }));
  EXPECT_EQ(closing->describe().counts.begun, 1u);
}

TEST_P(ClosingConnectionsTest, AClientThatSendsOnAndOnHearsAllOfIt) {
  FarClient client = door.call();
  const std::size_t sent = client.fill();
  closing->close(std::move(client.server));
  const std::string part(64 * 1024, 'x');
  std::size_t said = 0, heard = 0;
  const bool ended = loop.run_until([&] {
    const ssize_t count = ::send(client.client.get(), part.data(), part.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count > 0) said += static_cast<std::size_t>(count);
    if (said > 4 * 1024 * 1024) heard += client.read(32 * 1024).size();
    return client.met != FarClient::Met::nothing;
  });
  EXPECT_TRUE(ended);
  EXPECT_EQ(client.met, FarClient::Met::end);
  EXPECT_EQ(heard, sent);
}

TEST_P(ClosingConnectionsTest, AClientThatSendsWithoutEndIsReadSoFarAndNotAnyFurther) {
  ClosingPolicy policy;
  policy.most_discarded_bytes = 1024 * 1024;
  make(policy);
  FarClient client = door.call();
  ASSERT_GT(client.fill(), 0u);
  closing->close(std::move(client.server));
  const std::string part(64 * 1024, 'x');
  std::size_t said = 0;
  int refused = 0;  // in a row
  ASSERT_TRUE(loop.run_until([&] {
    const ssize_t count = ::send(client.client.get(), part.data(), part.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    refused = count > 0 ? 0 : refused + 1;
    if (count > 0) said += static_cast<std::size_t>(count);
    return said >= policy.most_discarded_bytes && refused > 100;
  }));
  EXPECT_GE(said, policy.most_discarded_bytes);
  EXPECT_LT(said, policy.most_discarded_bytes + 16 * 1024 * 1024) << "what the buffers hold";
  EXPECT_EQ(closing->describe().undelivered, 1u) << "it has not read its answer";
}

// It reads a little after each look, so that each finds progress however slow the machine is.
TEST_P(ClosingConnectionsTest, ASlowReaderThatMakesProgressIsNotCutOffThoughItTakesLongerThanTheTimeout) {
  ClosingPolicy policy = impatient(1s);  // the kernel's own timers (delayed acknowledgements, probes) take 200 ms
  policy.linger.look_first = policy.linger.look_last = 150ms;
  make(policy);
  closing->allow_aborts(true);
  FarClient client = door.call();
  const std::size_t sent = client.fill();
  std::size_t heard = 0;
  closing->on_settled([&] { heard += client.read(24 * 1024).size(); });
  const auto began = std::chrono::steady_clock::now();
  closing->close(std::move(client.server));
  ASSERT_TRUE(until([](const auto& d) { return d.undelivered == 0; }));
  EXPECT_GT(std::chrono::steady_clock::now() - began, policy.linger.patience);
  EXPECT_EQ(closing->describe().counts.aborted, 0u);
  EXPECT_EQ(closing->describe().counts.delivered, 1u);
  ASSERT_TRUE(loop.run_until([&] {
    heard += client.read().size();
    return client.met != FarClient::Met::nothing;
  }));
  EXPECT_EQ(client.met, FarClient::Met::end);
  EXPECT_EQ(heard, sent);
  closing->on_settled(nullptr);
}

TEST_P(ClosingConnectionsTest, AStalledOneIsKeptUntilAbortsAreAllowedAndThenReset) {
  make(impatient());
  FarClient client = door.call();
  ASSERT_GT(client.fill(), 0u);
  closing->close(std::move(client.server));
  ASSERT_TRUE(until([](const auto& d) { return d.stalled == 1; }));
  EXPECT_EQ(closing->describe().undelivered, 1u) << "a recycle never aborts";
  closing->allow_aborts(true);
  EXPECT_EQ(closing->describe().held, 0u);
  EXPECT_EQ(closing->describe().counts.aborted, 1u);
  EXPECT_TRUE(loop.run_until([&] { return client.read(), client.met == FarClient::Met::reset; }));
}

TEST_P(ClosingConnectionsTest, AClientThatIsNotThereAnyMoreIsUndeliveredThenStalledAndNeverDelivered) {
  make(impatient());
  FarClient client = answered();
  client.deafen();
  closing->close(std::move(client.server));
  ASSERT_TRUE(until([](const auto& d) { return d.stalled == 1; })) << "its FIN is not acknowledged";
  EXPECT_EQ(closing->describe().counts.delivered, 0u);
  EXPECT_EQ(closing->give_up(), 1u);
  EXPECT_EQ(closing->describe().held, 0u);
  EXPECT_EQ(closing->describe().counts.undelivered, 1u);
}

TEST_P(ClosingConnectionsTest, AStalledOneThatHearsAgainIsDelivered) {
  make(impatient());
  FarClient client = answered();
  client.deafen();
  closing->close(std::move(client.server));
  ASSERT_TRUE(until([](const auto& d) { return d.stalled == 1; }));
  client.hear_again();
  EXPECT_TRUE(until([](const auto& d) { return d.counts.delivered == 1; }));
  EXPECT_TRUE(hears_all(client, 9));
}

TEST_P(ClosingConnectionsTest, APeersResetReleasesAtOnce) {
  FarClient client = door.call();
  ASSERT_GT(client.fill(), 0u);
  closing->close(std::move(client.server));
  client.reset();
  ASSERT_TRUE(until([](const auto& d) { return d.held == 0; }));
  EXPECT_EQ(closing->describe().counts.reset, 1u);
}

TEST_P(ClosingConnectionsTest, AClientThatHungUpBeforeUsIsDeliveredWithTheAcknowledgementOfOurFin) {
  FarClient client = answered();
  ASSERT_EQ(::shutdown(client.client.get(), SHUT_WR), 0);
  closing->close(std::move(client.server));
  ASSERT_TRUE(until([](const auto& d) { return d.held == 0; }));
  EXPECT_EQ(closing->describe().counts.delivered, 1u);
  EXPECT_TRUE(hears_all(client, 9));
}

TEST_P(ClosingConnectionsTest, OneThatHasAllAndNeitherSpeaksNorHangsUpIsLetGoInTime) {
  ClosingPolicy policy;
  policy.last_words = 50ms;
  make(policy);
  FarClient client = answered();
  closing->close(std::move(client.server));
  ASSERT_TRUE(until([](const auto& d) { return d.held == 0; }));
  EXPECT_EQ(closing->describe().counts.delivered, 1u);
  EXPECT_TRUE(hears_all(client, 9));
}

TEST_P(ClosingConnectionsTest, Of300AtOnceAreWatched256AndTheOthersCounted) {
  std::vector<FarClient> clients;
  for (int i = 0; i < 300; ++i) {
    clients.push_back(answered());
    clients.back().deafen();
    closing->close(std::move(clients.back().server));
  }
  EXPECT_EQ(closing->describe().held, 256u);
  EXPECT_EQ(closing->describe().undelivered, 256u);
  EXPECT_EQ(closing->describe().counts.undelivered, 44u);
  for (FarClient& each : clients) each.hear_again();
  EXPECT_TRUE(until([](const auto& d) { return d.counts.delivered == 256; }));
  for (FarClient& each : clients) EXPECT_TRUE(hears_all(each, 9)) << "the kernel does its best for those not watched";
  clients.clear();
  EXPECT_TRUE(until([](const auto& d) { return d.held == 0; }));
  EXPECT_EQ(closing->describe().counts.begun, 300u);
}

TEST_P(ClosingConnectionsTest, The257thIsAbortedAtOnceWhereThatIsAllowed) {
  closing->allow_aborts(true);
  std::vector<FarClient> clients;
  for (int i = 0; i < 257; ++i) {
    clients.push_back(door.call());
    clients.back().fill();
    closing->close(std::move(clients.back().server));
    ASSERT_EQ(closing->describe().counts.aborted, i == 256 ? 1u : 0u) << i;
  }
  EXPECT_EQ(closing->describe().held, 256u);
  EXPECT_TRUE(loop.run_until([&] { return clients.back().read(), clients.back().met == FarClient::Met::reset; }));
}

TEST_P(ClosingConnectionsTest, ThoseThatAreDeliveredMakeRoom) {
  std::vector<FarClient> clients;
  for (int i = 0; i < 256; ++i) {
    clients.push_back(answered());
    closing->close(std::move(clients.back().server));
  }
  ASSERT_TRUE(until([](const auto& d) { return d.counts.delivered == 256; }));
  clients.push_back(answered());
  closing->close(std::move(clients.back().server));
  EXPECT_TRUE(until([](const auto& d) { return d.counts.delivered == 257; }));
  EXPECT_EQ(closing->describe().held, 256u);
  EXPECT_EQ(closing->describe().counts.undelivered, 0u);
}

TEST_P(ClosingConnectionsTest, WhoListensHearsOfTheDelivery) {
  bool delivered = false;
  closing->on_settled([&] { delivered = closing->describe().undelivered == 0; });
  FarClient client = answered();
  closing->close(std::move(client.server));
  EXPECT_TRUE(loop.run_until([&] { return delivered; }));
}

TEST_P(ClosingConnectionsTest, ItsOwnerMayGoWhileSomeAreLeft) {
  FarClient client = answered();
  closing->close(std::move(client.server));
  closing.reset();
  EXPECT_TRUE(hears_all(client, 9));
}

TEST(ClosingConnectionsOfUnixSocketsTest, TheClientHearsAllAndIsReadUntilItHangsUp) {
  TestLoop loop;
  ClosingConnections closing(loop.get(), {});
  ClientPair pair = ClientPair::unix_stream();
  pair.say("more than the worker wanted");
  send_now(pair.server.get(), "an answer");
  closing.close(std::move(pair.server));
  EXPECT_EQ(closing.describe().counts.delivered, 1u);
  pair.say("and more");
  ASSERT_TRUE(loop.run_until([&] { return pair.ended(); }));
  EXPECT_EQ(pair.heard(), "an answer");
  EXPECT_EQ(closing.describe().held, 1u);
  pair.client.reset();
  EXPECT_TRUE(loop.run_until([&] { return closing.describe().held == 0; }));
}

TEST(ClosingConnectionsOverACutLineTest, AreUndeliveredUntilTheLineIsThereAgain) {
  const std::string why_not = in_own_network([] {
    set_loopback(true);
    const TestDoor door;
    TestLoop loop;
    ClosingPolicy policy;
    policy.linger.patience = 100ms;
    ClosingConnections closing(loop.get(), policy);
    FarClient client = door.call();
    client.say("more than the worker wanted");
    set_loopback(false);
    client.answer("an answer");
    closing.close(std::move(client.server));
    EXPECT_TRUE(loop.run_until([&] { return closing.describe().stalled == 1; }));
    EXPECT_EQ(closing.describe().counts.delivered, 0u);
    set_loopback(true);
    EXPECT_TRUE(loop.run_until([&] { return closing.describe().counts.delivered == 1; }));
    EXPECT_EQ(client.read(), "an answer");
  });
  if (!why_not.empty()) GTEST_SKIP() << why_not;
}
}  // namespace
}  // namespace moult
