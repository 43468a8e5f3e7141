// ExecLauncher, NotifyLink and NotifySocket with real programs.
#include "master/launch/exec_launcher.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "tests/unit/launch/launch_loop.h"
namespace moult {
namespace {
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

// Says by sd_notify what its arguments are, one datagram each.
const std::string notify = R"(
import os, socket, sys, time, signal
def notify(text):
    address = os.environ["NOTIFY_SOCKET"]
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.sendto(text.encode(), "\0" + address[1:] if address[0] == "@" else address)
)";

class Executing : public LaunchLoop {
 protected:
  ~Executing() override {
    links.clear();
    launcher.reset();
  }
  WorkerLink& run(std::vector<std::string> command, std::optional<Duration> timeout = std::nullopt) {
    options.command = std::move(command);
    options.timeout = timeout;
    if (options.child.environment.empty()) options.child.environment = test_environment();
    options.child.sink = [this](OutputStream, std::string_view line) {
      lines.emplace_back(line);
      return true;
    };
    auto made = ExecLauncher::create(&loop, *orphans, options);
    EXPECT_TRUE(made);
    launcher = std::move(*made);
    return launch(1);
  }
  WorkerLink& launch(std::uint64_t id) {
    links.push_back(launcher->launch({WorkerId{id}, 0u, Generation{1}},
                                     {.started = [this](WorkerId, pid_t) { ++started; },
                                      .parked = [](WorkerId) {},
                                      .ready =
                                          [this](WorkerId w, Drain d) {
                                            ready.push_back(w);
                                            EXPECT_EQ(Drain::own, d);
                                          },
                                      .status = [this](WorkerId, const std::string& s) { statuses.push_back(s); },
                                      .refused = [](WorkerId, const std::string&) {},
                                      .gone = [this](WorkerId, const Exit& e) { gone.push_back(e); }}));
    return *links.back();
  }
  WorkerLink& python(const std::string& script, std::optional<Duration> timeout = std::nullopt) {
    return run({"/usr/bin/python3", "-c", notify + script}, timeout);
  }
  bool is_ready() {
    return run_until([&] { return !ready.empty(); });
  }
  bool is_over() {
    return run_until([&] { return !gone.empty(); });
  }

  ExecOptions options{.command = {}, .listeners = {}, .child = {}, .ready_delay = std::chrono::hours(1), .timeout = {}};
  TemporaryFolder folder;
  std::unique_ptr<ExecLauncher> launcher;
  std::vector<std::unique_ptr<WorkerLink>> links;
  std::vector<WorkerId> ready;
  std::vector<std::string> statuses, lines;
  std::vector<Exit> gone;
  int started = 0;
};

TEST_F(Executing, AProgramIsReadyWhenItSaysSo) {
  WorkerLink& link = python("notify('STATUS=warming up\\nUNKNOWN=1')\nnotify('READY=1')\ntime.sleep(100)");
  ASSERT_TRUE(is_ready());
  EXPECT_THAT(statuses, ElementsAre("warming up"));
  EXPECT_EQ(1, started);
  EXPECT_EQ(std::nullopt, link.heartbeat());
  link.retire(never, Adopters::some);
  ASSERT_TRUE(is_over());
  EXPECT_EQ(SIGTERM, gone[0].signal);
}

TEST_F(Executing, ASilentProgramIsReadyAfterTheDelay) {
  options.ready_delay = milliseconds(50);
  run({"/bin/sleep", "100"});
  EXPECT_TRUE(ready.empty());
  EXPECT_TRUE(is_ready());
}

TEST_F(Executing, AProgramThatSpokeIsWaitedForBeyondTheDelay) {
  options.ready_delay = milliseconds(2000);
  python("notify('STATUS=warming up')\nwhile not os.path.exists('" + folder.file("go") +
         "'): time.sleep(0.01)\nnotify('READY=1')\ntime.sleep(100)");
  ASSERT_TRUE(run_until([&] { return !statuses.empty(); }));
  ASSERT_TRUE(ready.empty());
  run_for(milliseconds(2100));
  EXPECT_TRUE(ready.empty());
  write_text(folder.file("go"), "");
  EXPECT_TRUE(is_ready());
}

TEST_F(Executing, ExitZeroBeforeReadyIsAFailedBootThatSaysWhatToDo) {
  run({"/bin/true"});
  ASSERT_TRUE(is_over());
  EXPECT_EQ(0, gone[0].status);
  EXPECT_EQ("exited with status 0 before it was ready: run it in the foreground", gone[0].cause);
  EXPECT_TRUE(ready.empty());
}

TEST_F(Executing, WhatAProgramSaidLastIsHeardBeforeItIsGone) {
  python("notify('READY=1')\nnotify('ERROR=out of paper')\nos._exit(4)");
  ASSERT_TRUE(is_over());
  EXPECT_EQ(4, gone[0].status);
  EXPECT_EQ("out of paper", gone[0].cause);
  EXPECT_EQ(1u, ready.size());
  EXPECT_EQ(0u, launcher->refused_messages());
}

TEST_F(Executing, AMissingProgramIsGoneWithStageAndErrno) {
  run({"/nowhere/program"});
  EXPECT_TRUE(gone.empty()) << "not from inside the call";
  ASSERT_TRUE(is_over());
  EXPECT_EQ("exec /nowhere/program: No such file or directory", describe(gone[0]));
  EXPECT_EQ(0, started);
}

TEST_F(Executing, ADescendantInItsGroupMaySpeakForIt) {
  python("if os.fork() == 0:\n  notify('READY=1')\n  time.sleep(100)\ntime.sleep(100)");
  EXPECT_TRUE(is_ready());
}

TEST_F(Executing, SystemdNotifyInAScriptIsHeardThoughItExitsAtOnce) {
  if (::access("/usr/bin/systemd-notify", X_OK) != 0) GTEST_SKIP() << "systemd-notify is not installed";
  for (int i = 0; i < 5; ++i) {
    run({"/bin/sh", "-c", "systemd-notify --ready; sleep 100"});
    ASSERT_TRUE(is_ready());
    links.clear();
    ready.clear();
  }
}

TEST_F(Executing, AForeignProcessMayNotSpeakForIt) {
  run({"/bin/sh", "-c", "echo $NOTIFY_SOCKET > " + folder.file("address") + "; sleep 100"});
  ASSERT_TRUE(run_until([&] { return text_of(folder.file("address")).ends_with('\n'); }));
  std::string address = text_of(folder.file("address"));
  address.pop_back();
  ASSERT_EQ('@', address.front());
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  address.copy(to.sun_path + 1, address.size() - 1, 1);
  const UniqueFd sender(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(7, ::sendto(sender.get(), "READY=1", 7, 0, reinterpret_cast<const sockaddr*>(&to),
                        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size())));
  ASSERT_TRUE(run_until([&] { return launcher->refused_messages() == 1; }));
  EXPECT_TRUE(ready.empty());
}

TEST_F(Executing, ADescendantThatLeftItsGroupMayNotSpeakForIt) {
  python("if os.fork() == 0:\n  os.setsid()\n  notify('READY=1')\n  os._exit(0)\ntime.sleep(100)");
  ASSERT_TRUE(run_until([&] { return launcher->refused_messages() == 1; }));
  EXPECT_TRUE(ready.empty());
}

TEST_F(Executing, OneWorkerDoesNotSpeakForAnother) {
  python("notify('READY=1' if os.path.exists('" + folder.file("go") + "') else 'STATUS=silent')\ntime.sleep(100)");
  ASSERT_TRUE(run_until([&] { return !statuses.empty(); }));
  write_text(folder.file("go"), "");
  launch(2);
  ASSERT_TRUE(is_ready());
  EXPECT_THAT(ready, ElementsAre(WorkerId{2}));
}

TEST_F(Executing, AMessageThatIsNoneIsCountedAndTheProgramServesOn) {
  python("notify('nonsense')\nnotify('READY=1')\ntime.sleep(100)");
  ASSERT_TRUE(is_ready());
  EXPECT_EQ(1u, launcher->refused_messages());
  EXPECT_TRUE(gone.empty());
}

TEST_F(Executing, HeartbeatsCountOnceAProgramHasSentOne) {
  WorkerLink& link = python(
      "notify('READY=1')\nfor i in range(3):\n  notify('WATCHDOG=1')\n  time.sleep(0.05)\n"
      "notify('STATUS=' + os.environ['WATCHDOG_USEC'])\ntime.sleep(100)",
      std::chrono::seconds(30));
  ASSERT_TRUE(run_until([&] { return link.heartbeat().has_value(); }));
  const auto first = *link.heartbeat();
  EXPECT_TRUE(run_until([&] { return *link.heartbeat() > first; }));
  ASSERT_TRUE(run_until([&] { return !statuses.empty(); }));
  EXPECT_EQ("30000000", statuses[0]);
}

TEST_F(Executing, ListenersComeFromThreeOnWithTheirNames) {
  const UniqueFd one(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), two(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(0, ::bind(one.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any));
  ASSERT_EQ(0, ::listen(one.get(), 1));
  options.listeners = {{one.get(), "127.0.0.1:8000", "inet"}, {two.get(), "/run/x.sock", "unix"}};
  python(
      "e = os.environ\n"
      "s = socket.socket(fileno=3)\n"
      "notify('STATUS=%s %s %s %s %s' % (e['LISTEN_FDS'], e['LISTEN_PID'] == str(os.getpid()), e['LISTEN_FDNAMES'],\n"
      "  s.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN), sorted(os.listdir('/proc/self/fd'))[3:5]))\n"
      "time.sleep(100)");
  ASSERT_TRUE(run_until([&] { return !statuses.empty(); }));
  EXPECT_EQ("2 True 127.0.0.1-8000:/run/x.sock 1 ['3', '4']", statuses[0]);
}

TEST_F(Executing, ItsOutputIsRelayedToTheLastUnfinishedLine) {
  options.child.output = OutputRoute::prefixed;
  run({"/bin/sh", "-c", "echo one; echo two >&2; printf three"});
  ASSERT_TRUE(is_over());
  EXPECT_THAT(lines, testing::UnorderedElementsAre("[0] one", "[0] two", "[0] three"));
}

TEST_F(Executing, ItIsLoadedOnTheLoopsNextTurn) {
  run({"/bin/sleep", "100"});
  std::vector<Generation> loaded;
  launcher->load(Generation{2}, {.loaded = [&](Generation g) { loaded.push_back(g); }, .load_failed = {}, .lost = {}});
  EXPECT_TRUE(loaded.empty());
  ASSERT_TRUE(run_until([&] { return !loaded.empty(); }));
  EXPECT_THAT(loaded, ElementsAre(Generation{2}));
}
}  // namespace
}  // namespace moult
