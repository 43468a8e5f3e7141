#include "master/control/control_server.h"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "master/control/control_frame.h"
#include "tests/unit/control/loop_fixture.h"
namespace moult::test {
namespace {
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const std::string status = "{\"protocol\":1,\"command\":\"status\"}\n";
const std::string version = "{\"protocol\":1,\"command\":\"version\"}\n";
const std::string stop_and_wait = "{\"protocol\":1,\"command\":\"stop\",\"wait\":true}\n";
const std::string reload_and_wait = "{\"protocol\":1,\"command\":\"reload\",\"wait\":true}\n";
std::string scale_to(unsigned workers) { return frame_of(command_json(ScaleCommand{workers})); }

std::vector<json> answers(RawClient& client) {
  client.read();
  std::vector<json> all;
  std::istringstream lines(client.got);
  for (std::string line; std::getline(lines, line);) all.push_back(json::parse(line));
  return all;
}

TEST_F(ControlServerTest, AnswersWithTheStatusDocumentAndItsVersion) {
  open();
  RawClient client(path());
  client.send(status + version);
  ASSERT_TRUE(loop.run_until([&] { return client.lines() == 2; }));
  EXPECT_EQ(answers(client)[0], json::parse(R"({"protocol":1,"ok":true,"result":{"name":"web","wanted":3}})"));
  EXPECT_EQ(answers(client)[1]["result"]["version"], "9.8.7");
  EXPECT_EQ(answers(client)[1]["result"]["pid"], ::getpid());
}

TEST_F(ControlServerTest, ReadsFramesHoweverTheyAreSplitAndMerged) {
  open();
  RawClient client(path());
  for (const char byte : scale_to(5)) {
    client.send(std::string(1, byte));
    loop.run_once_more();
  }
  client.send(scale_to(6) + scale_to(7) + scale_to(8).substr(0, 10));
  ASSERT_TRUE(loop.run_until([&] { return client.lines() == 3; }));
  client.send(scale_to(8).substr(10));
  ASSERT_TRUE(loop.run_until([&] { return client.lines() == 4; }));
  EXPECT_THAT(recorded.asked, ElementsAre("scale 5", "scale 6", "scale 7", "scale 8"));
}

TEST_F(ControlServerTest, SaysInTheLogWhoAsked) {
  open();
  RawClient client(path());
  client.send(scale_to(5));
  ASSERT_TRUE(loop.run_until([&] { return client.lines() == 1; }));
  EXPECT_THAT(recorded.said, ElementsAre("workers: 3 -> 5: asked by the control socket (uid " +
                                         std::to_string(::geteuid()) + ", pid " + std::to_string(::getpid()) + ")"));
}

TEST_F(ControlServerTest, RefusesACommandAndGoesOnWithTheNext) {
  open();
  RawClient client(path());
  client.send(scale_to(0) + "{\"protocol\":1,\"command\":\"dance\"}\n" + scale_to(2));
  ASSERT_TRUE(loop.run_until([&] { return client.lines() == 3; }));
  EXPECT_THAT(answers(client)[0]["error"], HasSubstr("at least 1 worker"));
  EXPECT_THAT(answers(client)[1]["error"], HasSubstr("no command 'dance' (commands:"));
  EXPECT_EQ(answers(client)[2]["result"]["wanted"], 2);
}

TEST_F(ControlServerTest, KeepsTheOrderBehindAReloadThatIsWaitedFor) {
  open();
  RawClient client(path());
  client.send(reload_and_wait + scale_to(5) + version);
  ASSERT_TRUE(loop.run_until([&] { return !recorded.reloads.empty(); }));
  loop.run_once_more();
  EXPECT_THAT(recorded.asked, ElementsAre("reload"));
  EXPECT_EQ(client.lines(), 0u);
  recorded.reloads[0]({true, "", Generation{4}});
  ASSERT_TRUE(loop.run_until([&] { return client.lines() == 3; }));
  EXPECT_EQ(answers(client)[0]["result"]["generation"], 4);
  EXPECT_EQ(answers(client)[1]["result"]["wanted"], 5);
  EXPECT_EQ(answers(client)[2]["result"]["name"], "web");
}

TEST_F(ControlServerTest, TellsWhyAReloadFailedInFull) {
  open();
  RawClient client(path());
  client.send(reload_and_wait);
  ASSERT_TRUE(loop.run_until([&] { return !recorded.reloads.empty(); }));
  recorded.reloads[0]({false, "Traceback:\n  ValueError: no", Generation{}});
  ASSERT_TRUE(loop.run_until([&] { return client.lines() == 1; }));
  EXPECT_EQ(answers(client)[0]["error"], "Traceback:\n  ValueError: no");
}

TEST_F(ControlServerTest, AnswersAReloadAtOnceWhenNobodyWaitsForItsEnd) {
  open();
  RawClient client(path());
  client.send("{\"protocol\":1,\"command\":\"reload\"}\n");
  ASSERT_TRUE(loop.run_until([&] { return client.lines() == 1; }));
  EXPECT_EQ(answers(client)[0]["result"]["begun"], true);
  recorded.reloads[0]({false, "nobody listens", Generation{}});
  loop.run_once_more();
  EXPECT_EQ(client.lines(), 1u);
}

TEST_F(ControlServerTest, ForgetsAClientThatLeftBeforeItsReloadEnded) {
  open();
  {
    RawClient client(path());
    client.send(reload_and_wait);
    ASSERT_TRUE(loop.run_until([&] { return !recorded.reloads.empty(); }));
  }
  recorded.reloads[0]({true, "", Generation{2}});
  EXPECT_TRUE(loop.run_until([&] { return server->clients() == 0; }));
}

TEST_F(ControlServerTest, GivesThePlaceOfAClientThatLeftWhileItWaitedToAnother) {
  open();
  RawClient client(path());
  client.send(reload_and_wait);
  ASSERT_TRUE(loop.run_until([&] { return recorded.reloads.size() == 1; }));
  client.close();
  EXPECT_TRUE(loop.run_until([&] { return server->clients() == 0; }));
}

TEST_F(ControlServerTest, AnswersAClientThatHasSaidItsLastWord) {
  open();
  RawClient client(path());
  client.send(reload_and_wait + version);
  ASSERT_TRUE(loop.run_until([&] { return recorded.reloads.size() == 1; }));
  ::shutdown(client.fd(), SHUT_WR);
  loop.run_once_more();
  recorded.reloads[0]({true, "", Generation{2}});
  ASSERT_TRUE(loop.run_until([&] { return client.has_ended(); }));
  ASSERT_EQ(answers(client).size(), 2u);
  EXPECT_EQ(answers(client)[0]["result"]["generation"], 2);
}

TEST_F(ControlServerTest, MayEndBeforeAReloadDoes) {
  open();
  RawClient client(path());
  client.send(reload_and_wait);
  ASSERT_TRUE(loop.run_until([&] { return !recorded.reloads.empty(); }));
  server.reset();
  EXPECT_TRUE(loop.run_until([&] { return client.has_ended(); }));
  recorded.reloads[0]({true, "", Generation{2}});  // finds nobody
}

TEST_F(ControlServerTest, PartsFromAFrameItCannotTrustWithOneClearError) {
  open();
  const std::pair<std::string, const char*> bad[] = {
      {"GET /status HTTP/1.1\r\n\r\n", "not JSON"},
      {std::string(longest_command_bytes + 1, 'x'), "longer than the 65536 bytes"},
      {"{\"protocol\":2,\"command\":\"status\"}\n", "control protocol 1, not 2"},
      {"[]\n", "must be a JSON object"}};
  for (const auto& [bytes, why] : bad) {
    RawClient client(path());
    client.send(bytes);
    EXPECT_TRUE(loop.run_until([&] { return client.has_ended(); })) << why;
    EXPECT_THAT(client.got, StartsWith("{\"error\":")) << why;
    EXPECT_THAT(client.got, HasSubstr(why));
    EXPECT_EQ(client.lines(), 1u);
  }
  EXPECT_TRUE(loop.run_until([&] { return server->clients() == 0; }));
  EXPECT_THAT(recorded.asked, IsEmpty());
}

TEST_F(ControlServerTest, ForgetsAClientThatLeavesInTheMiddleOfAFrame) {
  open();
  {
    RawClient client(path());
    client.send(status.substr(0, 12));
    ASSERT_TRUE(loop.run_until([&] { return server->clients() == 1; }));
  }
  EXPECT_TRUE(loop.run_until([&] { return server->clients() == 0; }));
}

TEST_F(ControlServerTest, ServesSixtyFourClientsAndTellsTheNextToTryLater) {
  open();
  std::vector<RawClient> clients;
  for (int i = 0; i < 64; ++i) {
    clients.emplace_back(path());
    ASSERT_TRUE(loop.run_until([&] { return server->clients() == clients.size(); }));
  }
  RawClient one_more(path());
  ASSERT_TRUE(loop.run_until([&] { return one_more.has_ended(); }));
  EXPECT_THAT(one_more.got, HasSubstr("64 clients are connected already"));
  clients[63].send(version);
  EXPECT_TRUE(loop.run_until([&] { return clients[63].lines() == 1; }));
  clients.pop_back();
  ASSERT_TRUE(loop.run_until([&] { return server->clients() == 63; }));
  RawClient in_its_place(path());
  in_its_place.send(version);
  EXPECT_TRUE(loop.run_until([&] { return in_its_place.lines() == 1; }));
}

TEST_F(ControlServerTest, ReadsNoMoreFromAClientThatTakesNoAnswers) {
  recorded.status = '"' + std::string(500'000, 's') + '"';  // far more than a socket buffers
  open();
  RawClient slow(path()), quick(path());
  std::string many;
  for (int i = 0; i < 1000; ++i) many += status;
  std::size_t sent = 0;
  for (int i = 0; i < 100; ++i) {
    if (const ssize_t length = slow.send(many); length > 0) sent += static_cast<std::size_t>(length);
    loop.run_once_more();
  }
  EXPECT_LT(sent, std::size_t{2} << 20) << "the kernel's buffers fill, then nothing more is taken";
  quick.send(version);
  EXPECT_TRUE(loop.run_until([&] { return quick.lines() == 1; }));
}

TEST_F(ControlServerTest, ClosesAClientThatTakesNoAnswersWithinTheBound) {
  recorded.status = '"' + std::string(900'000, 's') + '"';
  auto impatient = options();
  impatient.longest_idle = std::chrono::milliseconds(50);
  open(impatient);
  RawClient slow(path());
  slow.send(status);
  ASSERT_TRUE(loop.run_until([&] { return server->clients() == 1; }));
  EXPECT_TRUE(loop.run_until([&] { return server->clients() == 0; }));
}

TEST_F(ControlServerTest, ClosesAnIdleClientButNotOneThatWaits) {
  auto impatient = options();
  impatient.longest_idle = std::chrono::milliseconds(50);
  open(impatient);
  RawClient idle(path()), reloading(path()), stopping(path());
  reloading.send(reload_and_wait);
  ASSERT_TRUE(loop.run_until([&] { return recorded.reloads.size() == 1; }));
  stopping.send(stop_and_wait);
  ASSERT_TRUE(loop.run_until([&] { return stopping.lines() == 1; }));
  ASSERT_TRUE(loop.run_until([&] { return idle.has_ended(); }));
  RawClient idle_later(path());  // as long again, so that the others had their bound twice
  ASSERT_TRUE(loop.run_until([&] { return idle_later.has_ended(); }));
  EXPECT_FALSE(reloading.has_ended());
  EXPECT_FALSE(stopping.has_ended());
  server.reset();
  EXPECT_TRUE(loop.run_until([&] { return stopping.has_ended() && reloading.has_ended(); }));
}

TEST_F(ControlServerTest, RefusesAnAnswerThatIsTooLongInsteadOfSendingIt) {
  recorded.status = '"' + std::string(longest_answer_bytes, 's') + '"';
  open();
  RawClient client(path());
  client.send(status);
  ASSERT_TRUE(loop.run_until([&] { return client.lines() == 1; }));
  EXPECT_THAT(answers(client)[0]["error"], HasSubstr("longer than the 1048576 bytes"));
}

TEST_F(ControlServerTest, RemovesItsSocketAtTheEnd) {
  open();
  ASSERT_TRUE(std::filesystem::exists(path()));
  server.reset();
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(ControlServerTest, ObeysNoOtherUserEvenIfTheFileLetsHimIn) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  open();
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  ASSERT_EQ(::chmod(path().c_str(), 0777), 0);
  const std::string at = path();
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
    RawClient foreigner(at);
    foreigner.send("{\"protocol\":1,\"command\":\"stop\"}\n");
    pollfd readable{foreigner.fd(), POLLIN, 0};
    if (!foreigner.connected() || ::poll(&readable, 1, 10'000) != 1) ::_exit(3);
    ::_exit(foreigner.lines() == 1 && foreigner.got.find("obeys uid 0 and root only") != std::string::npos ? 0 : 4);
  }
  int exit_status = -1;
  ASSERT_TRUE(loop.run_until([&] { return ::waitpid(child, &exit_status, WNOHANG) == child; }));
  EXPECT_EQ(WIFEXITED(exit_status) ? WEXITSTATUS(exit_status) : -1, 0);
  EXPECT_THAT(recorded.asked, IsEmpty());
}

TEST_F(ControlServerTest, IsOpenToItsUserAloneByTheFileToo) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  open();
  const std::string at = path();
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
    ::_exit(RawClient(at).connected() ? 3 : 0);
  }
  int exit_status = -1;
  ASSERT_EQ(::waitpid(child, &exit_status, 0), child);
  EXPECT_EQ(WIFEXITED(exit_status) ? WEXITSTATUS(exit_status) : -1, 0);
}
}  // namespace
}  // namespace moult::test
