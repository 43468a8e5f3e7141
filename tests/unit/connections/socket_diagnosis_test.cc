// What the kernel says of connections that others hold, or nobody, and how it ends them.
#include "master/connections/socket_diagnosis.h"

#include <gmock/gmock.h>
#include <netinet/tcp.h>
#include <sys/wait.h>

#include "tests/unit/connections/far_client.h"
#include "tests/unit/connections/own_network.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

std::vector<DiagnosedSocket> seen_at(const std::vector<TcpDoor>& doors) {
  const auto found = undelivered_at(doors);
  EXPECT_TRUE(found) << found.error().message;
  return found ? *found : std::vector<DiagnosedSocket>{};
}
bool eventually(const std::function<bool()>& happened) {
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (!happened() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return happened();
}

class SocketDiagnosisTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!listening.is_open()) GTEST_SKIP() << "cannot listen on " << GetParam();
    if (const std::string why = FarClient::why_not(); !why.empty()) GTEST_SKIP() << why;
    const auto found = tcp_door(listening.listener.get());
    ASSERT_TRUE(found);
    door = *found;
  }
  FarClient deaf_client() {
    FarClient client = listening.call();
    client.deafen();
    return client;
  }
  std::vector<DiagnosedSocket> seen() const { return seen_at({door}); }

  TestDoor listening{GetParam()};
  TcpDoor door;
};
INSTANTIATE_TEST_SUITE_P(V4AndV6, SocketDiagnosisTest, testing::Values("127.0.0.1", "::1", "0.0.0.0", "::"),
                         [](const auto& tested) {
                           const std::string host = tested.param;
                           return std::string(host.find(':') == host.npos ? "v4" : "v6") +
                                  (host.find('1') == host.npos ? "any" : "loopback");
                         });

TEST_P(SocketDiagnosisTest, AConnectionWithNothingOutstandingIsNotShown) {
  FarClient client = listening.call();
  EXPECT_THAT(seen(), testing::IsEmpty());
}

TEST_P(SocketDiagnosisTest, WhatALiveWorkerSentIsShownUntilItIsAcknowledged) {
  FarClient client = deaf_client();
  client.answer("hello");
  const auto found = seen();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].reading.unacknowledged_bytes, 5u);
  EXPECT_EQ(found[0].reading.tcp_state, TCP_ESTABLISHED);
  client.hear_again();
  EXPECT_TRUE(eventually([&] { return seen().empty(); }));
  const auto again = look_again_at(found[0]);
  ASSERT_TRUE(again);
  ASSERT_TRUE(*again) << "it lives";
  EXPECT_EQ((*again)->reading.unacknowledged_bytes, 0u);
  EXPECT_EQ((*again)->reading.acknowledged_bytes, 5u);
}

TEST_P(SocketDiagnosisTest, WhatAProcessSentThatIsGoneIsShownAndThenItsTimeWait) {
  FarClient client = deaf_client();
  const pid_t worker = ::fork();
  if (worker == 0) {
    (void)!::write(client.server.get(), "hello", 5);
    ::_exit(0);
  }
  client.server.reset();
  int status = 0;
  ASSERT_EQ(::waitpid(worker, &status, 0), worker);
  const auto found = seen();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].reading.unacknowledged_bytes, 6u) << "and a FIN";
  EXPECT_EQ(found[0].reading.tcp_state, TCP_FIN_WAIT1);
  client.hear_again();
  EXPECT_TRUE(eventually([&] { return seen().empty(); }));
  EXPECT_EQ(client.read(), "hello");
  EXPECT_EQ(client.met, FarClient::Met::end);
  client.client.reset();
  const auto ended = [&] {
    const auto again = look_again_at(found[0]);
    return again && *again && (*again)->reading.tcp_state == TCP_TIME_WAIT;
  };
  EXPECT_TRUE(eventually(ended));
}

TEST_P(SocketDiagnosisTest, AnOrphanWhoseClientResetItIsGone) {
  FarClient client = listening.call();
  ASSERT_GT(client.fill(), 0u);
  client.server.reset();
  const auto found = seen();
  ASSERT_EQ(found.size(), 1u);
  client.reset();
  EXPECT_TRUE(eventually([&] { return seen().empty(); }));
  const auto again = look_again_at(found[0]);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_FALSE(*again);
}

TEST_P(SocketDiagnosisTest, AConnectionThatTookThePlaceOfAnotherIsNotTakenForIt) {
  FarClient client = deaf_client();
  client.answer("hello");
  auto found = seen();
  ASSERT_EQ(found.size(), 1u);
  ++found[0].handle.idiag_cookie[0];
  const auto again = look_again_at(found[0]);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_FALSE(*again);
  if (::geteuid() == 0) { EXPECT_EQ(destroy(found[0]), AbortAnswer::gone); }
  EXPECT_EQ(seen().size(), 1u);
}

TEST_P(SocketDiagnosisTest, TheKernelEndsWhatALiveWorkerHoldsAndTheWorkerAndItsClientMeetThat) {
  FarClient client = listening.call();
  ASSERT_GT(client.fill(), 0u);
  const auto found = seen();
  ASSERT_EQ(found.size(), 1u);
  const AbortAnswer said = destroy(found[0]);
  if (said == AbortAnswer::refused) GTEST_SKIP() << "no right to destroy sockets, or the kernel cannot";
  EXPECT_EQ(said, AbortAnswer::done);
  EXPECT_THAT(seen(), testing::IsEmpty());
  EXPECT_EQ(::send(client.server.get(), "x", 1, MSG_NOSIGNAL), -1);
  EXPECT_EQ(errno, ECONNABORTED);
  EXPECT_TRUE(eventually([&] { return client.read(), client.met == FarClient::Met::reset; }));
  EXPECT_EQ(destroy(found[0]), AbortAnswer::gone);
}

TEST_P(SocketDiagnosisTest, TheKernelEndsWhatNobodyHoldsAndItsClientMeetsThat) {
  FarClient client = listening.call();
  ASSERT_GT(client.fill(), 0u);
  client.server.reset();
  const auto found = seen();
  ASSERT_EQ(found.size(), 1u);
  const AbortAnswer said = destroy(found[0]);
  if (said == AbortAnswer::refused) GTEST_SKIP() << "no right to destroy sockets, or the kernel cannot";
  EXPECT_EQ(said, AbortAnswer::done);
  if (!seen().empty()) GTEST_SKIP() << "this kernel goes on showing it, as some before 6.12 do";
  EXPECT_TRUE(eventually([&] { return client.read(), client.met == FarClient::Met::reset; }));
}

TEST_P(SocketDiagnosisTest, WithoutTheRightItIsSeenAndMayNotBeDestroyed) {
  FarClient client = deaf_client();
  client.answer("hello");
  as_nobody([&] {
    const auto found = seen();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(destroy(found[0]), AbortAnswer::refused);
    EXPECT_EQ(seen().size(), 1u);
  });
}

TEST_P(SocketDiagnosisTest, HundredsAreAllShown) {
  std::vector<FarClient> clients;
  for (int i = 0; i < 600; ++i) {
    clients.push_back(deaf_client());
    clients.back().answer("hello");
  }
  const auto found = seen();
  EXPECT_EQ(found.size(), clients.size());
  std::set<TailId> ids;
  for (const auto& each : found) ids.insert(each.id());
  EXPECT_EQ(ids.size(), clients.size());
}

TEST(SocketDiagnosisOfTwoDoorsTest, ShowsTheConnectionsOfBothAndOfNoOther) {
  if (const std::string why = FarClient::why_not(); !why.empty()) GTEST_SKIP() << why;
  const TestDoor first("127.0.0.1"), second("127.0.0.1"), neighbour("127.0.0.2", first.port());
  ASSERT_TRUE(neighbour.is_open());
  std::vector<FarClient> clients;
  for (const TestDoor* each : {&first, &second, &neighbour}) {
    clients.push_back(each->call());
    clients.back().deafen();
    clients.back().answer("hello");
  }
  const TcpDoor a = *tcp_door(first.listener.get()), b = *tcp_door(second.listener.get());
  EXPECT_EQ(seen_at({a, b}).size(), 2u) << "the neighbour has the same port at another address";
  EXPECT_EQ(seen_at({a}).size(), 1u);
  EXPECT_EQ(seen_at({}).size(), 0u);
}

TEST(SocketDiagnosisOfADoorForBothTest, ShowsAndEndsThoseWhoCameByIpv4) {
  const TestDoor both("::");
  if (!both.is_open()) GTEST_SKIP() << "no IPv6 here";
  if (const std::string why = FarClient::why_not(); !why.empty()) GTEST_SKIP() << why;
  FarClient client = both.call_by_ipv4();
  client.deafen();
  client.answer("hello");
  const std::vector<TcpDoor> doors{*tcp_door(both.listener.get())};
  const auto found = seen_at(doors);
  ASSERT_EQ(found.size(), 1u);
  const auto again = look_again_at(found[0]);
  ASSERT_TRUE(again && *again);
  const AbortAnswer said = destroy(found[0]);
  if (said == AbortAnswer::refused) GTEST_SKIP() << "no right to destroy sockets, or the kernel cannot";
  EXPECT_EQ(said, AbortAnswer::done);
  EXPECT_THAT(seen_at(doors), testing::IsEmpty());
}

TEST(TcpDoorTest, IsWhereATcpSocketListensAndNothingElseIsOne) {
  const TestDoor four("127.0.0.1");
  const auto door = tcp_door(four.listener.get());
  ASSERT_TRUE(door);
  EXPECT_EQ(door->family, AF_INET);
  EXPECT_EQ(door->port, four.port());
  EXPECT_THAT(std::vector<int>(door->address.begin(), door->address.begin() + 5),
              testing::ElementsAre(127, 0, 0, 1, 0));
  const UniqueFd path(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_FALSE(tcp_door(path.get()));
  EXPECT_FALSE(tcp_door(-1));
}
}  // namespace
}  // namespace moult
