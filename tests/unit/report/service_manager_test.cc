#include "master/report/service_manager.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/unit/report/test_loop.h"
namespace moult {
namespace {
using ::testing::StartsWith;
using testing::TempDir;
using namespace std::chrono_literals;

// The service manager's end.
class NotifySocket {
 public:
  explicit NotifySocket(const std::string& name) : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    name.copy(at.sun_path, sizeof at.sun_path);
    if (name[0] == '@') at.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&at), size), 0);
  }
  // The next message; empty: none is there.
  std::string next() {
    char text[4096];
    const ssize_t size = ::recv(fd_.get(), text, sizeof text, MSG_DONTWAIT);
    return size < 0 ? "" : std::string(text, static_cast<std::size_t>(size));
  }

 private:
  UniqueFd fd_;
};

class ServiceManagerTest : public ::testing::Test {
 protected:
  void create(const ServiceManagerSettings& settings) {
    auto created = ServiceManager::create(loop.get(), settings);
    ASSERT_TRUE(created) << created.error().message;
    manager = std::move(*created);
  }
  const Worker worker{.id = WorkerId{1}, .slot = 0, .generation = Generation{1}};
  const std::string ready = "READY=1\nMAINPID=" + std::to_string(::getpid()) + "\nSTATUS=serving";
  const TempDir dir;
  testing::TestLoop loop;
  std::unique_ptr<ServiceManager> manager;
};

TEST_F(ServiceManagerTest, SaysReadyWhenAnAppThatBeginsAsleepIsLoaded) {
  NotifySocket socket(dir / "notify");
  create({dir / "notify", {}});
  Pool pool;
  pool.goal.mode = Mode::sleep;
  manager->load_started(Generation{1});
  manager->pool_settled(pool);
  EXPECT_EQ(socket.next(), "");
  pool.goal.candidate = Generation{1};
  manager->pool_settled(pool);
  EXPECT_THAT(socket.next(), StartsWith("READY=1\n"));
  manager->load_started(Generation{2});
  EXPECT_THAT(socket.next(), StartsWith("RELOADING=1\n"));
  manager->pool_settled(pool);
  EXPECT_EQ(socket.next(), "");
  pool.goal.candidate = Generation{2};
  manager->pool_settled(pool);
  EXPECT_THAT(socket.next(), StartsWith("READY=1\n"));
}

TEST_F(ServiceManagerTest, SaysReadyWhenTheFirstWorkerServesAndOnlyThen) {
  NotifySocket socket(dir / "notify");
  create({dir / "notify", {}});
  manager->load_started(Generation{1});
  manager->generation_proven(Generation{1});
  EXPECT_EQ(socket.next(), "");
  manager->worker_serving(worker, 71);
  EXPECT_EQ(socket.next(), ready);
  manager->worker_serving(worker, 72);
  EXPECT_EQ(socket.next(), "");
}

TEST_F(ServiceManagerTest, SpeaksToAnAbstractSocket) {
  const std::string name = "@moult-report-test-" + std::to_string(::getpid());
  NotifySocket socket(name);
  create({name, {}});
  manager->worker_serving(worker, 71);
  EXPECT_EQ(socket.next(), ready);
}

TEST_F(ServiceManagerTest, SaysReloadingAndReadyAgain) {
  NotifySocket socket(dir / "notify");
  create({dir / "notify", {}});
  manager->worker_serving(worker, 71);
  socket.next();
  manager->load_started(Generation{2});
  EXPECT_THAT(socket.next(), StartsWith("RELOADING=1\nMONOTONIC_USEC="));
  manager->generation_proven(Generation{2});
  EXPECT_EQ(socket.next(), ready);
  manager->load_started(Generation{3});
  socket.next();
  manager->generation_rejected(Generation{3}, "ImportError: x\nmore");
  EXPECT_THAT(socket.next(), ::testing::EndsWith("the newer one failed: ImportError: x"));
}

TEST_F(ServiceManagerTest, SaysStoppingOnceAndNeverReadyAfterIt) {
  NotifySocket socket(dir / "notify");
  create({dir / "notify", {}});
  manager->stopping();
  EXPECT_THAT(socket.next(), StartsWith("STOPPING=1"));
  manager->stopping();
  manager->stop_finished(0);
  manager->worker_serving(worker, 71);
  manager->load_started(Generation{2});
  EXPECT_EQ(socket.next(), "");
}

TEST_F(ServiceManagerTest, AsksForTheTimeThatAStopTakesAndAMomentMore) {
  NotifySocket socket(dir / "notify");
  create({dir / "notify", {}});
  manager->stop_takes(10min);
  EXPECT_EQ(socket.next(), "EXTEND_TIMEOUT_USEC=605000000\nSTATUS=waiting until all answers have arrived");
}

TEST_F(ServiceManagerTest, FeedsTheWatchdogWhileTheLoopTurns) {
  NotifySocket socket(dir / "notify");
  create({dir / "notify", 20ms});
  unsigned fed = 0;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(loop.turn_until([&] {
    while (socket.next() == "WATCHDOG=1") ++fed;
    return fed >= 5;
  }));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 35ms);  // every 10 ms, not in every turn
}

TEST_F(ServiceManagerTest, SaysTheLastWordsLaterToAManagerThatDoesNotReadForAWhile) {
  NotifySocket socket(dir / "notify");
  create({dir / "notify", {}});
  for (int i = 0; i < 2000; ++i) manager->status("line " + std::to_string(i));  // its queue is full long before
  manager->worker_serving(worker, 71);
  std::string last;
  loop.turn_until([&] {
    for (std::string message; !(message = socket.next()).empty();) last = message;
    return last == ready;
  });
  EXPECT_EQ(last, ready);
}

TEST_F(ServiceManagerTest, IsSilentWithoutASocketAndSurvivesOneThatIsGone) {
  create({});
  manager->worker_serving(worker, 71);
  create({dir / "nobody", {}});
  manager->worker_serving(worker, 71);
  manager->stopping();
}

TEST_F(ServiceManagerTest, RefusesANameThatIsNone) {
  for (const std::string& name : {std::string("relative"), "/" + std::string(200, 'x')})
    EXPECT_FALSE(ServiceManager::create(loop.get(), {name, {}})) << name;
}

TEST(ServiceManagerSettings, AWatchdogIsOursOrNobodysByPid) {
  EXPECT_EQ(parse_service_manager_settings("/n", "3000000", nullptr, 7).watchdog, Duration(3s));
  EXPECT_EQ(parse_service_manager_settings("/n", "3000000", "7", 7).watchdog, Duration(3s));
  EXPECT_EQ(parse_service_manager_settings("/n", "3000000", "8", 7).watchdog, std::nullopt);
  EXPECT_EQ(parse_service_manager_settings("/n", nullptr, nullptr, 7).watchdog, std::nullopt);
  for (const char* bad : {"", "x", "-1", "0", "3s", "99999999999999999999"})
    EXPECT_EQ(parse_service_manager_settings("/n", bad, nullptr, 7).watchdog, std::nullopt) << bad;
}

TEST(ServiceManagerSettings, AreTakenOutOfTheEnvironment) {
  ::setenv("NOTIFY_SOCKET", "/run/n", 1);
  ::setenv("WATCHDOG_USEC", "1000", 1);
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  const ServiceManagerSettings settings = take_service_manager_settings();
  EXPECT_EQ(settings.notify_socket, "/run/n");
  EXPECT_EQ(settings.watchdog, Duration(1ms));
  for (const char* each : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) EXPECT_EQ(::getenv(each), nullptr);
}
}  // namespace
}  // namespace moult
