#include "master/control/control_client.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "master/control/client_commands.h"
#include "tests/unit/control/loop_fixture.h"
namespace moult::test {
namespace {
using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

struct Ran {
  int status;
  std::string out, err;
};

// The client blocks: it runs in a thread of its own beside the loop.
class ClientCommandsTest : public ControlServerTest {
 protected:
  Ran run_alone(std::vector<const char*> arguments) {
    std::ostringstream out, err;
    const EnvironmentLookup environment = [this](const char* name) -> const char* {
      return std::string(name) == "MOULT_CONTROL" ? control_.c_str() : nullptr;
    };
    const int status =
        run_client_command(static_cast<int>(arguments.size()), arguments.data(), {"1.2.3", environment, out, err, 0});
    return {status, out.str(), err.str()};
  }
  Ran run(
      const std::vector<const char*>& arguments, const std::function<void()>& meanwhile = [] {}) {
    Ran ran{};
    std::atomic<bool> done = false;
    std::thread client([&] { ran = run_alone(arguments), done = true; });
    EXPECT_TRUE(loop.run_until([&] { return meanwhile(), done.load(); }));
    client.join();
    return ran;
  }
  std::string control_ = path();
};

TEST_F(ClientCommandsTest, PrintTheStatusAsATableOrAsJson) {
  open();
  const Ran table = run({"status"});
  EXPECT_EQ(table.status, client_done);
  EXPECT_THAT(table.out, AllOf(StartsWith("moult -  name web  pid -"), HasSubstr("0 of 3 wanted"), HasSubstr("SLOT")));
  const Ran document = run({"status", "--json"});
  EXPECT_EQ(document.status, client_done);
  EXPECT_EQ(json::parse(document.out), json::parse(recorded.status));
}

TEST_F(ClientCommandsTest, ScaleAndSayWhatIsWantedNow) {
  open();
  const Ran ran = run({"scale", "7"});
  EXPECT_EQ(ran.status, client_done);
  EXPECT_EQ(ran.out, "workers wanted: 7\n");
  EXPECT_THAT(recorded.asked, ElementsAre("scale 7"));
  const Ran refused = run({"scale", "1001"});
  EXPECT_EQ(refused.status, client_refused);
  EXPECT_EQ(refused.err, "moult: 1001 workers are too many: moult runs at most 1000\n");
}

TEST_F(ClientCommandsTest, BeginAReloadWithoutWaitingForIt) {
  open();
  const Ran ran = run({"reload"});
  EXPECT_EQ(ran.status, client_done);
  EXPECT_THAT(ran.out, HasSubstr("the reload has begun"));
  EXPECT_THAT(recorded.reloads, testing::SizeIs(1));
}

TEST_F(ClientCommandsTest, WaitForAReloadAndSayHowItEnded) {
  open();
  const auto finish_with = [this](ReloadOutcome outcome) {
    return [this, outcome] {
      for (const auto& finished : std::exchange(recorded.reloads, {})) finished(outcome);
    };
  };
  const Ran good = run({"reload", "--wait"}, finish_with({true, "", Generation{5}}));
  EXPECT_EQ(good.status, client_done);
  EXPECT_EQ(good.out, "reloaded: generation 5\n");
  const Ran bad = run({"reload", "--wait"}, finish_with({false, "Traceback\n  ValueError: no", {}}));
  EXPECT_EQ(bad.status, client_refused);
  EXPECT_EQ(bad.err, "moult: the reload failed:\nTraceback\n  ValueError: no\n");
  EXPECT_THAT(bad.out, IsEmpty());
}

TEST_F(ClientCommandsTest, WaitForAReloadNoLongerThanTheyWereTold) {
  open();
  const Ran ran = run({"reload", "--wait", "--timeout", "50ms"});
  EXPECT_EQ(ran.status, client_refused);
  EXPECT_THAT(ran.err, HasSubstr("the reload has not ended within --timeout; it goes on"));
}

TEST_F(ClientCommandsTest, SayWhenMoultEndedBeforeTheReload) {
  open();
  const Ran ran = run({"reload", "--wait"}, [this] {
    if (!recorded.reloads.empty()) server.reset();
  });
  EXPECT_EQ(ran.status, client_refused);
  EXPECT_THAT(ran.err, HasSubstr("moult ended before the reload did"));
}

TEST_F(ClientCommandsTest, StopGracefullyOrNow) {
  open();
  EXPECT_EQ(run({"stop"}).status, client_done);
  EXPECT_EQ(run({"stop", "--now"}).status, client_done);
  EXPECT_THAT(recorded.asked, ElementsAre("stop", "stop quickly"));
}

TEST_F(ClientCommandsTest, WaitForTheEndAfterAStopButNoLongerThanTheyWereTold) {
  open();
  const Ran ran = run({"stop", "--wait", "--timeout", "50ms"});
  EXPECT_EQ(ran.status, client_refused);
  EXPECT_THAT(ran.err, HasSubstr("moult has not stopped within --timeout"));
}

TEST_F(ClientCommandsTest, PrintTheVersionOfBothSides) {
  open();
  const Ran ran = run({"version"});
  EXPECT_EQ(ran.status, client_done);
  EXPECT_EQ(ran.out, "moult 1.2.3\nrunning: moult 9.8.7, name web, pid " + std::to_string(::getpid()) + "\n");
}

TEST_F(ClientCommandsTest, SayWhichPathTheyTriedWhereNobodyIs) {
  const Ran nothing = run_alone({"status"});
  EXPECT_EQ(nothing.status, client_nobody);
  EXPECT_EQ(nothing.err, "moult: no moult answers at " + path() +
                             " (No such file or directory): start it with 'moult run', or say which one with -n NAME "
                             "or --control PATH\n");
  EXPECT_EQ(run_alone({"version"}).status, client_nobody);
  {
    const UniqueFd stale(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path().c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(stale.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  const Ran refused = run_alone({"stop"});
  EXPECT_EQ(refused.status, client_nobody);
  EXPECT_THAT(refused.err, HasSubstr("(Connection refused)"));
}

TEST_F(ClientCommandsTest, NameTheirMistakesOnOneLine) {
  const std::pair<std::vector<const char*>, const char*> mistakes[] = {
      {{"scale"}, "scale needs the number of workers"},
      {{"scale", "many"}, "scale needs the number of workers"},
      {{"scale", "3", "4"}, "scale needs the number"},
      {{"scale", "3x"}, "scale needs the number"},
      {{"scale", "-1"}, "scale needs the number of workers, a whole number from 1 to 1000: moult scale N"},
      {{"status", "--jsno"}, "see moult status --help"},
      {{"status", "web"}, "status does not take 'web'"},
      {{"status", "--now"}, "see moult status --help"},
      {{"reload", "--timeout", "soon"}, "soon is no time"},
      {{"stop", "--timeout", "0"}, "0 is no time"},
      {{"status", "-n", "a/b"}, "cannot name a control socket"},
      {{"status", "--control", ""}, "the control socket is empty"}};
  for (const auto& [arguments, why] : mistakes) {
    const Ran ran = run_alone(arguments);
    EXPECT_EQ(ran.status, client_usage) << why;
    EXPECT_THAT(ran.err, AllOf(StartsWith("moult: "), HasSubstr(why)));
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
}

TEST_F(ClientCommandsTest, ExplainThemselves) {
  const Ran ran = run_alone({"reload", "--help"});
  EXPECT_EQ(ran.status, client_done);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("--wait"), HasSubstr("--timeout T"), HasSubstr("--control PATH")));
}

TEST(ClientOptions, FindTheSocketByFlagThenNameThenEnvironment) {
  const auto path_of = [](std::vector<const char*> arguments, std::map<std::string, const char*> environment) {
    const auto request =
        parse_client_request(static_cast<int>(arguments.size()), arguments.data(), [&](const char* name) {
          const auto found = environment.find(name);
          return found == environment.end() ? nullptr : found->second;
        });
    return request ? request->control_path : request.error().message;
  };
  EXPECT_EQ(path_of({"status", "--control", "/a", "-n", "web"}, {{"MOULT_CONTROL", "/e"}}), "/a");
  EXPECT_THAT(path_of({"status", "-n", "web"}, {{"MOULT_CONTROL", "/e"}}), testing::EndsWith("/web.sock"));
  EXPECT_EQ(path_of({"status"}, {{"MOULT_CONTROL", "/e"}, {"MOULT_NAME", "api"}}), "/e");
  EXPECT_THAT(path_of({"status"}, {{"MOULT_CONTROL", ""}, {"MOULT_NAME", "api"}}), testing::EndsWith("/api.sock"));
  EXPECT_THAT(path_of({"status"}, {}), testing::EndsWith("/moult.sock"));
}

TEST(ClientOptions, ReadTimesInSecondsOrWithAUnit) {
  using namespace std::chrono_literals;
  EXPECT_EQ(*parse_wait("90"), 90s);
  EXPECT_EQ(*parse_wait("1.5"), 1500ms);
  EXPECT_EQ(*parse_wait("250ms"), 250ms);
  EXPECT_EQ(*parse_wait("5m"), 300s);
  EXPECT_EQ(*parse_wait("2h"), 7200s);
  for (const char* wrong : {"", "0", "-1", "s", "5 s", "5d", "nan", "inf", "1e300", "9000h"})
    EXPECT_FALSE(parse_wait(wrong)) << wrong;
}

// Listens, and does with those who come what the test says; no loop.
struct DeafServer {
  explicit DeafServer(const std::string& path, int backlog) : fd(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(fd.get(), backlog), 0);
  }
  UniqueFd fd;
};

TEST(ControlClient, GivesUpOnAServerThatNeverAnswers) {
  const Folder folder;
  const DeafServer server(folder / "deaf.sock", 8);
  auto client = ControlClient::connect(folder / "deaf.sock");
  ASSERT_TRUE(client);
  const ControlAnswer answer = client->ask(StatusCommand{}, std::chrono::milliseconds(50));
  ASSERT_TRUE(std::holds_alternative<NoAnswer>(answer));
  EXPECT_TRUE(std::get<NoAnswer>(answer).too_late);
  EXPECT_THAT(std::get<NoAnswer>(answer).why, HasSubstr("has not answered within 50 ms"));
}

TEST(ControlClient, GivesUpOnAServerThatAcceptsNobody) {
  const Folder folder;
  const DeafServer server(folder / "deaf.sock", 0);
  const RawClient first(folder / "deaf.sock");  // fills the backlog
  const auto client = ControlClient::connect(folder / "deaf.sock", std::chrono::milliseconds(50));
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ETIMEDOUT);
}

TEST(ControlClient, DoesNotBelieveWhateverAnswers) {
  for (const char* words :
       {"HTTP/1.1 400 Bad Request\r\n", "{\"protocol\":1}\n", "{\"protocol\":2,\"ok\":true}\n", ""}) {
    const Folder folder;
    const DeafServer server(folder / "other.sock", 8);
    std::thread other([&] {
      const UniqueFd accepted(::accept(server.fd.get(), nullptr, nullptr));
      EXPECT_EQ(::send(accepted.get(), words, std::strlen(words), MSG_NOSIGNAL), ssize_t(std::strlen(words)));
    });
    auto client = ControlClient::connect(folder / "other.sock");
    ASSERT_TRUE(client);
    const ControlAnswer answer = client->ask(StatusCommand{});
    other.join();
    ASSERT_TRUE(std::holds_alternative<NoAnswer>(answer)) << words;
    EXPECT_THAT(std::get<NoAnswer>(answer).why, HasSubstr("other.sock")) << words;
  }
}

TEST(ControlClient, HearsWhyItIsRefusedEvenIfTheServerHasHungUpAlready) {
  const Folder folder;
  const DeafServer server(folder / "full.sock", 8);
  auto client = ControlClient::connect(folder / "full.sock");
  ASSERT_TRUE(client);
  {
    const UniqueFd accepted(::accept(server.fd.get(), nullptr, nullptr));
    const std::string frame = refusal_frame("64 clients are connected already");
    ASSERT_EQ(::send(accepted.get(), frame.data(), frame.size(), MSG_NOSIGNAL), ssize_t(frame.size()));
  }
  const ControlAnswer answer = client->ask(StatusCommand{});
  ASSERT_TRUE(std::holds_alternative<RefusedByMaster>(answer));
  EXPECT_EQ(std::get<RefusedByMaster>(answer).why, "64 clients are connected already");
}

TEST(ControlClient, WaitsForTheEndOfTheProcessAndNotOnlyOfTheConnection) {
  const Folder folder;
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const pid_t master = ::fork();
  if (master == 0) {
    const DeafServer server(folder / "m.sock", 8);
    if (::write(ready[1], "x", 1) != 1) ::_exit(1);
    ::close(::accept(server.fd.get(), nullptr, nullptr));
    ::pause();
    ::_exit(0);
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  auto client = ControlClient::connect(folder / "m.sock");
  ASSERT_TRUE(client);
  EXPECT_FALSE(client->wait_for_end(std::chrono::milliseconds(50)));
  ::kill(master, SIGKILL);
  EXPECT_TRUE(client->wait_for_end(patience));
  ::waitpid(master, nullptr, 0);
  ::close(ready[0]), ::close(ready[1]);
}
}  // namespace
}  // namespace moult::test
