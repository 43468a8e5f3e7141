#include "master/report/admin_server.h"

#include <arpa/inet.h>
#include <civetweb.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <csignal>

#include "tests/unit/report/testing.h"
namespace moult {
namespace {
using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

class Client {
 public:
  explicit Client(unsigned port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(port));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
    const timeval patience{30, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  bool connected() const { return connected_; }
  void send(const std::string& text) { (void)::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL); }
  // What came when so many of `what` are in it, or the server closed.
  std::string receive_until(const std::string& what, std::size_t times) {
    std::string text;
    char part[4096];
    const auto seen = [&] {
      std::size_t found = 0;
      for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
      return found;
    };
    while (seen() < times) {
      const ssize_t size = ::recv(fd_.get(), part, sizeof part, 0);
      if (size <= 0) break;
      text.append(part, static_cast<std::size_t>(size));
    }
    return text;
  }
  // Until the server closes; `timed_out` if it does not.
  std::string receive() {
    std::string text;
    char part[4096];
    ssize_t size;
    while ((size = ::recv(fd_.get(), part, sizeof part, 0)) > 0) text.append(part, static_cast<std::size_t>(size));
    return size < 0 && errno == EAGAIN ? "timed out" : text;
  }

 private:
  UniqueFd fd_;
  bool connected_;
};

class AdminServerTest : public ::testing::Test {
 protected:
  AdminServerTest() {
    WorkerDescription worker{};
    worker.state = WorkerState::serving;
    worker.generation = Generation{1};
    const Snapshot serving{{Mode::serve, 1, Generation{1}, Generation{1}, 0, {worker}, ""},
                           {"0.1.0", "shop", "", 7, 1s}};
    board->hang_up(std::make_shared<const Snapshot>(serving), std::chrono::steady_clock::now());
  }
  std::unique_ptr<AdminServer> start(const AdminRules& rules = {}, const std::string& host = "127.0.0.1") {
    auto server = AdminServer::start({host, 0, "--admin", rules}, board);
    EXPECT_TRUE(server) << server.error().message;
    return std::move(*server);
  }
  std::string ask(const AdminServer& server, const std::string& request) {
    Client client(server.port());
    client.send(request);
    return client.receive();
  }
  void hang_up_one_that_stops() {
    Snapshot stopping = *board->latest();
    stopping.pool.mode = Mode::delay;
    board->hang_up(std::make_shared<const Snapshot>(stopping), std::chrono::steady_clock::now());
  }
  const std::shared_ptr<SnapshotBoard> board = std::make_shared<SnapshotBoard>();
};

TEST_F(AdminServerTest, AnswersWithSensibleHeaders) {
  const auto server = start();
  const std::string reply = ask(*server, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(reply, HasSubstr("\r\nCache-Control: no-store\r\n"));
  EXPECT_THAT(reply, HasSubstr("\r\nContent-Length: 3\r\n"));
  EXPECT_THAT(reply, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_THAT(reply, ::testing::EndsWith("\r\n\r\nok\n"));
}

TEST_F(AdminServerTest, ShowsTheNewestSnapshot) {
  const auto server = start();
  EXPECT_THAT(ask(*server, "GET /status.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), HasSubstr("\"state\":\"serving\""));
  hang_up_one_that_stops();
  EXPECT_THAT(ask(*server, "GET /status.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
              HasSubstr("\"state\":\"stopping\""));
}

TEST_F(AdminServerTest, SaysNotAliveWhenTheLoopStoppedTurning) {
  board->hang_up(board->latest(), std::chrono::steady_clock::now() - 1min);
  const auto server = start();
  EXPECT_THAT(ask(*server, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 503 "));
}

TEST_F(AdminServerTest, GivesHeadNoBodyAndRefusesOtherMethods) {
  const auto server = start();
  EXPECT_THAT(ask(*server, "HEAD /livez HTTP/1.1\r\nHost: x\r\n\r\n"), ::testing::EndsWith("\r\n\r\n"));
  const std::string post = ask(*server, "POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
  EXPECT_THAT(post, StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(post, HasSubstr("\r\nAllow: GET, HEAD\r\n"));
  EXPECT_THAT(
      ask(*server, "OPTIONS / HTTP/1.1\r\nHost: x\r\nOrigin: http://a\r\nAccess-Control-Request-Method: GET\r\n\r\n"),
      StartsWith("HTTP/1.1 405 "));
}

TEST_F(AdminServerTest, WantsTheTokenForTheStatusOnly) {
  const auto server = start({AdminPaths::all, "s3cret"});
  const std::string refused =
      ask(*server, "GET /status.json HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer wrong1\r\n\r\n");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(refused, HasSubstr("WWW-Authenticate: Bearer"));
  EXPECT_THAT(ask(*server, "GET /status.json HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer s3cret\r\n\r\n"),
              StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(ask(*server, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(AdminServerTest, TellsAViewerEachPictureAsItComes) {
  const auto server = start();
  Client viewer(server->port());
  viewer.send("GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  const std::string first = viewer.receive_until("\n\n", 1);
  EXPECT_THAT(first, HasSubstr("Content-Type: text/event-stream"));
  EXPECT_THAT(first, HasSubstr("event: status\ndata: {"));
  hang_up_one_that_stops();
  EXPECT_THAT(viewer.receive_until("\n\n", 1), HasSubstr("\"state\":\"stopping\""));
}

TEST_F(AdminServerTest, TellsAViewerThatTheLoopStandsStill) {
  board->hang_up(board->latest(), std::chrono::steady_clock::now() - 1min);
  const auto server = start();
  Client viewer(server->port());
  viewer.send("GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  EXPECT_THAT(viewer.receive_until("\n\n", 2), HasSubstr("event: still\ndata: {\"seconds\":6"));
}

TEST_F(AdminServerTest, HasABoundOnViewersAndRoomAgainWhenOneLeaves) {
  const auto server = start();
  std::vector<std::unique_ptr<Client>> viewers;
  const auto look = [&] {
    auto viewer = std::make_unique<Client>(server->port());
    viewer->send("GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    const std::string said = viewer->receive_until("\n\n", 1);
    if (said.starts_with("HTTP/1.1 200 ")) viewers.push_back(std::move(viewer));
    return said;
  };
  for (unsigned i = 0; i < most_viewers; ++i) ASSERT_THAT(look(), StartsWith("HTTP/1.1 200 "));
  const std::string refused = look();
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(refused, HasSubstr("\r\nRetry-After: 1\r\n"));
  EXPECT_THAT(ask(*server, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
  viewers.pop_back();
  const auto end = std::chrono::steady_clock::now() + 20s;
  std::string said;
  do {
    hang_up_one_that_stops();  // who has left is noticed when there is something to tell
    said = look();
  } while (!said.starts_with("HTTP/1.1 200 ") && std::chrono::steady_clock::now() < end);
  EXPECT_THAT(said, StartsWith("HTTP/1.1 200 "));
}

TEST_F(AdminServerTest, EndsSoonWhileViewersLook) {
  auto server = start();
  Client viewer(server->port());
  viewer.send("GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  EXPECT_THAT(viewer.receive_until("\n\n", 1), HasSubstr("event: status"));
  const auto begin = std::chrono::steady_clock::now();
  server.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1500ms);
  EXPECT_EQ(viewer.receive(), "");
}

TEST_F(AdminServerTest, AnswersSoManyAtATimeAndThenOnlyForHealth) {
  const auto server = start();
  bool refused = false;
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (!refused && std::chrono::steady_clock::now() < end)
    refused = ask(*server, "GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").starts_with("HTTP/1.1 503 ");
  EXPECT_TRUE(refused);
  EXPECT_THAT(ask(*server, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(AdminServerTest, NeverServesFiles) {
  const auto server = start();
  for (const char* path : {"/etc/passwd", "/../../etc/passwd", "/%2e%2e/etc/passwd", "/admin_server.h"})
    EXPECT_THAT(ask(*server, "GET " + std::string(path) + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
                StartsWith("HTTP/1.1 404 "))
        << path;
}

TEST_F(AdminServerTest, SendsAwayASlowClientAndOneThatSaysTooMuch) {
  const auto server = start();
  Client slow(server->port());
  slow.send("GET /livez HT");
  EXPECT_NE(slow.receive(), "timed out");
  const std::string huge =
      ask(*server, "GET /livez HTTP/1.1\r\nHost: x\r\nX-Big: " + std::string(100'000, 'x') + "\r\n\r\n");
  EXPECT_THAT(huge, ::testing::AnyOf("", StartsWith("HTTP/1.1 4")));  // "": a reset, since not all of it was read
  const std::string malformed = ask(*server, "nonsense\r\n\r\n");
  EXPECT_THAT(malformed, StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_THAT(malformed, HasSubstr("\r\nCache-Control: no-store\r\n"));
  EXPECT_THAT(ask(*server, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(AdminServerTest, ServesOthersAgainAfterMoreSlowClientsThanThreads) {
  const auto server = start();
  std::vector<std::unique_ptr<Client>> slow;
  for (unsigned i = 0; i < admin_threads + 2; ++i) {
    slow.push_back(std::make_unique<Client>(server->port()));
    slow.back()->send("GET /");
  }
  EXPECT_THAT(ask(*server, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(AdminServerTest, SaysClearlyThatItsPortIsTaken) {
  const auto first = start();
  const auto second = AdminServer::start({"127.0.0.1", first->port(), "--admin", {}}, board);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message,
            "cannot listen on 127.0.0.1:" + std::to_string(first->port()) + " for --admin: Address already in use");
}

TEST_F(AdminServerTest, RefusesAHostThatIsNoAddress) {
  const auto server = AdminServer::start({"example.org", 9000, "--health-bind", {}}, board);
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().message,
            "--health-bind takes an address and a port, as in 127.0.0.1:9000; not example.org:9000");
  EXPECT_FALSE(AdminServer::start({"127.0.0.1", 65536, "--admin", {}}, board));
}

TEST_F(AdminServerTest, KnowsTheNameLocalhost) { EXPECT_GT(start({}, "localhost")->port(), 0u); }

TEST_F(AdminServerTest, ListensOnIpv6OrSaysThatItCannot) {
  for (const char* host : {"::1", "[::1]"}) {
    const auto server = AdminServer::start({host, 0, "--admin", {}}, board);
    if (mg_check_feature(MG_FEATURES_IPV6)) EXPECT_TRUE(server) << server.error().message;
    else
      EXPECT_EQ(
          server.error().message,
          "cannot listen on [::1]:0 for --admin: admin servers listen on IPv4 only, for this civetweb has no IPv6: "
          "write an IPv4 address");
  }
}

TEST_F(AdminServerTest, EndsSoonAndFreesItsPort) {
  for (const char* host : {"127.0.0.1", "0.0.0.0"}) {
    auto server = start({}, host);
    const auto begin = std::chrono::steady_clock::now();
    server.reset();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 1500ms) << host;  // civetweb alone: up to two seconds
  }
  auto server = start();
  const unsigned port = server->port();
  server.reset();
  EXPECT_FALSE(Client(port).connected());
}

TEST_F(AdminServerTest, DoesNotWaitForASlowClientWhenItEnds) {
  auto server = start();
  Client slow(server->port());
  slow.send("GET /livez HT");
  const auto begin = std::chrono::steady_clock::now();
  server.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1500ms);
}

TEST_F(AdminServerTest, ItsThreadsTakeNoSignalOfOurs) {
  const auto server = start();
  // Every thread but this one has all of them blocked: bit 14 is SIGTERM's.
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(::getpid())) continue;
    const std::string status = testing::contents(task.path() / "status");
    const std::size_t at = status.find("SigBlk:\t");
    if (at == std::string::npos) continue;  // it has just ended
    EXPECT_NE(std::stoull(status.substr(at + 8, 16), nullptr, 16) & (1ull << 14), 0u) << task.path();
  }
}
}  // namespace
}  // namespace moult
