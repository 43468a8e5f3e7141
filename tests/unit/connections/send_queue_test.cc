// What the kernel says of connections that we hold, in each way that one can end.
#include "master/connections/send_queue.h"

#include <gmock/gmock.h>
#include <netinet/tcp.h>

#include "tests/unit/connections/client_pair.h"
#include "tests/unit/connections/far_client.h"
#include "tests/unit/connections/own_network.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

SendQueueReading reading_of(const FarClient& client) {
  const auto reading = read_send_queue(client.server.get());
  EXPECT_TRUE(reading) << reading.error().message;
  return reading ? *reading : SendQueueReading{};
}
LingerState delivery_of(const FarClient& client) {
  const LingerPolicy policy;
  return advance(begin_linger(policy, {}), reading_of(client), policy, {}).state;
}
bool becomes(const FarClient& client, LingerState wanted) {
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (delivery_of(client) != wanted && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return delivery_of(client) == wanted;
}

class SendQueueTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!door.is_open()) GTEST_SKIP() << "cannot listen on " << GetParam();
    if (const std::string why = FarClient::why_not(); !why.empty()) GTEST_SKIP() << why;
    client = door.call();
  }
  TestDoor door{GetParam()};
  FarClient client;
};
INSTANTIATE_TEST_SUITE_P(V4AndV6, SendQueueTest, testing::Values("127.0.0.1", "::1"),
                         [](const auto& tested) { return std::string(tested.param) == "::1" ? "v6" : "v4"; });

TEST_P(SendQueueTest, WhatTheClientsKernelHasIsAcknowledgedThoughItIsNotRead) {
  client.answer("hello");
  EXPECT_TRUE(becomes(client, LingerState::delivered));
  EXPECT_EQ(reading_of(client).acknowledged_bytes, 5u);
  EXPECT_EQ(reading_of(client).tcp_state, TCP_ESTABLISHED);
}

TEST_P(SendQueueTest, WhatIsSentToOneThatIsNotThereIsUnderway) {
  client.deafen();
  client.answer("hello");
  EXPECT_EQ(reading_of(client).unacknowledged_bytes, 5u);
  EXPECT_EQ(delivery_of(client), LingerState::underway);
  client.hear_again();
  EXPECT_TRUE(becomes(client, LingerState::delivered));
}

TEST_P(SendQueueTest, AFinThatIsNotAcknowledgedIsUnderwayAndOneThatIsIsDelivered) {
  client.answer("hello");
  ASSERT_TRUE(becomes(client, LingerState::delivered));
  client.deafen();
  ASSERT_EQ(::shutdown(client.server.get(), SHUT_WR), 0);
  EXPECT_EQ(reading_of(client).tcp_state, TCP_FIN_WAIT1);
  EXPECT_EQ(reading_of(client).unacknowledged_bytes, 1u) << "the FIN";
  EXPECT_EQ(delivery_of(client), LingerState::underway);
  client.hear_again();
  EXPECT_TRUE(becomes(client, LingerState::delivered));
  EXPECT_EQ(reading_of(client).tcp_state, TCP_FIN_WAIT2);
}

TEST_P(SendQueueTest, AFinThatAnswersTheClientsIsUnderwayUntilItIsAcknowledged) {
  ASSERT_EQ(::shutdown(client.client.get(), SHUT_WR), 0);
  char byte;
  ASSERT_EQ(::recv(client.server.get(), &byte, 1, 0), 0) << "its FIN is here";
  client.deafen();
  ASSERT_EQ(::shutdown(client.server.get(), SHUT_WR), 0);
  EXPECT_EQ(reading_of(client).tcp_state, TCP_LAST_ACK);
  EXPECT_EQ(delivery_of(client), LingerState::underway);
  client.hear_again();
  EXPECT_TRUE(becomes(client, LingerState::delivered));
  EXPECT_EQ(reading_of(client).tcp_state, TCP_CLOSE);
}

TEST_P(SendQueueTest, AResetLeavesTheCountAndIsSeenBeforeAnybodyReads) {
  ASSERT_GT(client.fill(), 0u);
  client.reset();
  EXPECT_TRUE(becomes(client, LingerState::reset));
  EXPECT_GT(reading_of(client).unacknowledged_bytes, 0u);
  EXPECT_EQ(reading_of(client).tcp_state, TCP_CLOSE);
}

TEST_P(SendQueueTest, ASlowReaderMakesProgressThatCanBeSeen) {
  const std::size_t sent = client.fill();
  std::size_t heard = 0;
  std::uint64_t acknowledged = reading_of(client).acknowledged_bytes;
  int progress = 0;
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (heard < sent && std::chrono::steady_clock::now() < end) {
    heard += client.read(4096).size();
    const auto now = reading_of(client).acknowledged_bytes;
    if (now > acknowledged) ++progress;
    acknowledged = now;
  }
  EXPECT_EQ(heard, sent);
  EXPECT_GT(progress, 3);
  EXPECT_TRUE(becomes(client, LingerState::delivered));
  EXPECT_EQ(reading_of(client).acknowledged_bytes, sent);
}

TEST_P(SendQueueTest, AnAbortIsAResetForTheClient) {
  client.answer("hello");
  ASSERT_TRUE(becomes(client, LingerState::delivered));
  abort_connection(std::move(client.server));
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (client.met != FarClient::Met::reset && std::chrono::steady_clock::now() < end) client.read();
  EXPECT_EQ(client.met, FarClient::Met::reset);
}

// What was written to a unix socket is the client's, whatever becomes of us: even if we leave input unread.
TEST(SendQueueOfAUnixSocketTest, IsDeliveredAlwaysAndOutlivesUs) {
  ClientPair pair = ClientPair::unix_stream();
  pair.say("a request that nobody reads");
  const std::string answer(100'000, 'x');
  send_now(pair.server.get(), answer);
  const auto reading = read_send_queue(pair.server.get());
  ASSERT_TRUE(reading);
  EXPECT_EQ(advance(begin_linger({}, {}), *reading, {}, {}).state, LingerState::delivered);
  pair.server.reset();
  std::string heard;
  while (heard.size() < answer.size()) {
    const std::string part = read_now(pair.client.get());
    if (part.empty()) break;
    heard += part;
  }
  EXPECT_EQ(heard, answer);
}

TEST(SendQueueOfNothingTest, IsAnErrorThatSaysWhatCouldNotBeAsked) {
  const auto reading = read_send_queue(-1);
  ASSERT_FALSE(reading);
  EXPECT_THAT(reading.error().message, testing::HasSubstr("cannot ask a connection for its kind: "));
  EXPECT_EQ(reading.error().code, EBADF);
}

TEST(SendQueueOverACutLineTest, IsUnderwayUntilTheLineIsThereAgain) {
  const std::string why_not = in_own_network([] {
    set_loopback(true);
    const TestDoor door;
    FarClient client = door.call();
    set_loopback(false);
    client.answer("hello");
    EXPECT_EQ(reading_of(client).unacknowledged_bytes, 5u);
    EXPECT_EQ(delivery_of(client), LingerState::underway);
    set_loopback(true);
    EXPECT_TRUE(becomes(client, LingerState::delivered));
  });
  if (!why_not.empty()) GTEST_SKIP() << why_not;
}
}  // namespace
}  // namespace moult
