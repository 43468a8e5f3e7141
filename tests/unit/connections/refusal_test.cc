// A refused client hears the whole answer, whatever it was about to send, and keeps nobody waiting.
#include "master/connections/refusal.h"

#include <gmock/gmock.h>

#include <vector>

#include "tests/unit/connections/client_pair.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

class RefusalTest : public testing::Test {
 protected:
  ClientPair refused_tcp(const std::string& said = "GET / HTTP/1.1\r\n\r\n") {
    ClientPair pair = ClientPair::tcp();
    pair.say(said);
    refusals->refuse(std::move(pair.server));
    return pair;
  }
  TestLoop loop;
  std::unique_ptr<Refusals> refusals = std::make_unique<Refusals>(loop.get());
};

TEST_F(RefusalTest, ItsAnswerIsAsLongAsItSays) {
  const std::string answer = Refusals::answer();
  const auto body = answer.substr(answer.find("\r\n\r\n") + 4);
  EXPECT_NE(answer.find("\r\nContent-Length: " + std::to_string(body.size()) + "\r\n"), answer.npos);
}

TEST_F(RefusalTest, TheClientHearsTheWholeAnswerThenTheEnd) {
  ClientPair client = refused_tcp();
  ASSERT_TRUE(loop.run_until([&] { return client.ended(); }));
  EXPECT_EQ(client.heard(), Refusals::answer());
  EXPECT_EQ(refusals->size(), 1u) << "until it hangs up";
  client.client.reset();
  EXPECT_TRUE(loop.run_until([&] { return refusals->size() == 0; }));
}

TEST_F(RefusalTest, ABodyThatComesLateDoesNotTurnTheAnswerIntoAReset) {
  ClientPair client = refused_tcp("POST / HTTP/1.1\r\nContent-Length: 500000\r\n\r\n");
  const std::string part(50'000, 'x');
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(loop.run_until(
        [&] { return ::send(client.client.get(), part.data(), part.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0; }));
  }
  ASSERT_TRUE(loop.run_until([&] { return client.ended(); }));
  EXPECT_EQ(client.heard(), Refusals::answer());
}

TEST_F(RefusalTest, OneThatSendsWithoutEndIsCut) {
  ClientPair client = refused_tcp();
  const std::string part(64 * 1024, 'x');
  std::size_t sent = 0;
  EXPECT_TRUE(loop.run_until([&] {
    const ssize_t count = ::send(client.client.get(), part.data(), part.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count > 0) sent += static_cast<std::size_t>(count);
    return refusals->size() == 0;
  }));
  EXPECT_GE(sent, Refusals::most_discarded_bytes);
}

TEST_F(RefusalTest, OneThatNeitherSpeaksNorHangsUpIsLetGoInTime) {
  ClientPair client = refused_tcp();
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(loop.run_until([&] { return refusals->size() == 0; }));
  EXPECT_GE(std::chrono::steady_clock::now() - began, Refusals::linger - 50ms);
  EXPECT_EQ(client.heard(), Refusals::answer());
}

TEST_F(RefusalTest, BeyondTheBoundAClientHearsItsAnswerAndIsClosedAtOnce) {
  std::vector<ClientPair> clients;
  for (std::size_t i = 0; i < Refusals::most + 3; ++i) clients.push_back(refused_tcp());
  EXPECT_EQ(refusals->size(), Refusals::most);
  ASSERT_TRUE(loop.run_until([&] { return clients.back().ended(); }));
  EXPECT_EQ(clients.back().heard(), Refusals::answer());
}

TEST_F(RefusalTest, TheEmptyAreToldAtOnceAndTheOthersWhenTheyAre) {
  int told = 0;
  refusals->when_empty([&] { ++told; });
  EXPECT_EQ(told, 1);
  ClientPair first = refused_tcp(), second = refused_tcp();
  refusals->when_empty([&] { ++told; });
  first.client.reset();
  ASSERT_TRUE(loop.run_until([&] { return refusals->size() == 1; }));
  EXPECT_EQ(told, 1);
  second.client.reset();
  ASSERT_TRUE(loop.run_until([&] { return told == 2; }));
}

TEST_F(RefusalTest, AClientThatResetsIsForgotten) {
  ClientPair client = refused_tcp();
  client.reset_by_client();
  EXPECT_TRUE(loop.run_until([&] { return refusals->size() == 0; }));
}

TEST_F(RefusalTest, ItsOwnerMayGoWhileSomeAreLeft) {
  ClientPair client = refused_tcp();
  refusals.reset();
  ASSERT_TRUE(loop.run_until([&] { return client.ended(); }));
  EXPECT_EQ(client.heard(), Refusals::answer());
}
}  // namespace
}  // namespace moult
