// ForkServers, ForkServer and ChannelLink against a fork server that behaves well or badly (fake_fork_server.py).
#include "master/launch/fork_servers.h"

#include <fcntl.h>
#include <gmock/gmock.h>

#include "tests/unit/launch/fork_server_test.h"
namespace moult {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;

// --- loading

TEST_F(ForkServerTest, LoadsAndPassesWarningsOn) {
  make_loaded("good");
  EXPECT_THAT(warnings, ElementsAre("two threads\nare alive", "and a socket"));
  EXPECT_GT(launcher->fork_server_pid(first), 0);
  EXPECT_TRUE(failures.empty());
}

TEST_F(ForkServerTest, FailsToLoadWithTheTracebackOfTheApp) {
  make("load-failed");
  load();
  EXPECT_TRUE(failures.empty()) << "not from inside the call";
  ASSERT_TRUE(run_until([&] { return !failures.empty(); }));
  EXPECT_EQ("Traceback:\n  ImportError: no module named app", failures[0]);
  EXPECT_TRUE(run_until([&] { return launcher->running() == 0; }));
  EXPECT_EQ(1u, failures.size());
  EXPECT_TRUE(lost.empty());
}

struct BadServer {
  const char* mode;
  const char* cause;
};
class BadForkServer : public ForkServerTest, public testing::WithParamInterface<BadServer> {};

TEST_P(BadForkServer, FailsToLoadOnceAndLeavesNothing) {
  make(GetParam().mode);
  load();
  const pid_t pid = launcher->fork_server_pid(first);
  ASSERT_TRUE(run_until([&] { return !failures.empty() && launcher->running() == 0; }));
  EXPECT_EQ(1u, failures.size());
  EXPECT_THAT(failures[0], HasSubstr(GetParam().cause));
  EXPECT_TRUE(lost.empty());
  EXPECT_TRUE(loaded.empty());
  EXPECT_TRUE(is_gone(pid));
}
INSTANTIATE_TEST_SUITE_P(All, BadForkServer,
                         testing::Values(BadServer{"dies-mid-load", "killed by SIGKILL before the app was loaded"},
                                         BadServer{"exits-mid-load", "exited with status 1 before the app was loaded"},
                                         BadServer{"is-no-fork-server",
                                                   "/usr/bin/python3 exited with status 0 before moult's part ran in "
                                                   "it: is it one?"},
                                         BadServer{"garbage", "bad message"},
                                         BadServer{"oversized", "longer than 64 KiB"},
                                         BadServer{"closes-channel", "closed its channel"}),
                         [](const auto& test) {
                           std::string name = test.param.mode;
                           std::erase(name, '-');
                           return name;
                         });

TEST_F(ForkServerTest, FailsToLoadWhenTheProgramIsMissing) {
  ForkServersOptions options;
  options.program = {"/nowhere/python"};
  launcher = std::make_unique<ForkServers>(&loop, *orphans, std::move(options));
  load();
  EXPECT_TRUE(failures.empty()) << "not from inside the call";
  ASSERT_TRUE(run_until([&] { return !failures.empty(); }));
  EXPECT_EQ("cannot start the fork server: exec /nowhere/python: No such file or directory", failures[0]);
  EXPECT_TRUE(run_until([&] { return launcher->running() == 0; }));
}

TEST_F(ForkServerTest, WhichNeverAnswersIsEndedByDropThoughItIgnoresSigterm) {
  make("never-answers");
  load();
  const pid_t pid = launcher->fork_server_pid(first);
  run_for(std::chrono::milliseconds(200));
  launcher->drop(first);
  EXPECT_EQ(0, launcher->fork_server_pid(first));
  ASSERT_TRUE(run_until([&] { return launcher->running() == 0; }));
  EXPECT_TRUE(is_gone(pid));
  EXPECT_TRUE(failures.empty() && loaded.empty() && lost.empty());
}

TEST_F(ForkServerTest, IsLostWhenItDies) {
  make_loaded("good");
  ::kill(launcher->fork_server_pid(first), SIGSEGV);
  ASSERT_TRUE(run_until([&] { return !lost.empty(); }));
  EXPECT_EQ(SIGSEGV, lost[0].signal);
  EXPECT_EQ(0, launcher->fork_server_pid(first));
  EXPECT_TRUE(run_until([&] { return launcher->running() == 0; }));
}

TEST_F(ForkServerTest, IsLostWhenItSpeaksNonsense) {
  make_loaded("garbage-at-fork");
  launch(1);
  ASSERT_TRUE(run_until([&] { return !lost.empty(); }));
  EXPECT_THAT(lost[0].cause, HasSubstr("bad message"));
  ASSERT_TRUE(all_gone());
  EXPECT_EQ("fork", gone[0].stage);
}

// --- workers

TEST_F(ForkServerTest, ForksAWorkerThatIsReadyAndRetires) {
  make_loaded("good");
  WorkerLink& link = launch(1, 4);
  EXPECT_EQ(0, link.pid());
  ASSERT_TRUE(run_until([&] { return !ready.empty(); }));
  EXPECT_EQ(WorkerId{1}, ready[0].first);
  EXPECT_EQ(Drain::handover, ready[0].second);
  EXPECT_THAT(statuses, ElementsAre("slot 4"));
  EXPECT_EQ(1, parked);
  EXPECT_THAT(started, ElementsAre(link.pid()));
  EXPECT_EQ(link.pid(), ::getpgid(link.pid())) << "leads its group though it did not ask for one";
  ASSERT_NE(nullptr, link.scoreboard());
  EXPECT_EQ(std::nullopt, link.heartbeat());
  const pid_t pid = link.pid();
  link.retire(never, Adopters::some);
  ASSERT_TRUE(all_gone());
  EXPECT_EQ(0, gone[0].status);
  EXPECT_EQ(pid, gone[0].pid);
  EXPECT_TRUE(is_gone(pid));
  ASSERT_TRUE(run_until([&] { return text_of(folder.file("app")) == std::to_string(pid) + " 4"; })) << "EXITED is told";
}

TEST_F(ForkServerTest, ForksManyWorkersAtOnce) {
  make_loaded("good");
  for (std::uint64_t id = 1; id <= 20; ++id) launch(id, static_cast<unsigned>(id));
  ASSERT_TRUE(run_until([&] { return ready.size() == 20; }));
  for (const auto& link : links) link->signal(SIGKILL);
  ASSERT_TRUE(all_gone(20));
  for (const Exit& exit : gone) EXPECT_EQ(SIGKILL, exit.signal);
}

TEST_F(ForkServerTest, WorkersOutliveTheirForkServer) {
  make_loaded("good");
  WorkerLink& link = launch(1);
  ASSERT_TRUE(run_until([&] { return !ready.empty(); }));
  ::kill(launcher->fork_server_pid(first), SIGKILL);
  ASSERT_TRUE(run_until([&] { return !lost.empty() && launcher->running() == 0; }));
  EXPECT_TRUE(gone.empty());
  EXPECT_FALSE(is_gone(link.pid()));
}

TEST_F(ForkServerTest, KillsTheGroupOfADeadWorker) {
  make_loaded("good", "groups");
  WorkerLink& link = launch(1);
  ASSERT_TRUE(run_until([&] { return !ready.empty(); }));
  const pid_t pid = link.pid();
  link.signal(SIGTERM);
  ASSERT_TRUE(all_gone());
  EXPECT_EQ(SIGTERM, gone[0].signal);
  EXPECT_TRUE(run_until([&] { return ::kill(-pid, 0) != 0 && errno == ESRCH; })) << "its child lives on";
}

TEST_F(ForkServerTest, KillsTheWorkerWhoseLinkGoes) {
  make_loaded("good");
  const pid_t pid = [&] {
    WorkerLink& link = launch(1);
    EXPECT_TRUE(run_until([&] { return !ready.empty(); }));
    return link.pid();
  }();
  links.clear();
  EXPECT_TRUE(run_until([&] { return is_gone(pid); }));
  EXPECT_TRUE(gone.empty());
}

// --- workers that never came to be

TEST_F(ForkServerTest, WithoutItsGenerationNobodyIsForked) {
  make("good");
  launch(1);
  EXPECT_TRUE(gone.empty()) << "not from inside the call";
  ASSERT_TRUE(all_gone());
  EXPECT_EQ("fork", gone[0].stage);
  EXPECT_EQ("its generation has no fork server", gone[0].cause);
}

TEST_F(ForkServerTest, SaysWhyAForkFailed) {
  make_loaded("fork-fails");
  launch(1);
  ASSERT_TRUE(all_gone());
  EXPECT_EQ("fork: Resource temporarily unavailable", describe(gone[0]));
  run_for(std::chrono::milliseconds(50));
  EXPECT_EQ(1u, gone.size());
}

TEST_F(ForkServerTest, DyingAtAForkTakesThatWorkerOnly) {
  make_loaded("dies-at-fork");
  launch(1);
  ASSERT_TRUE(all_gone());
  EXPECT_EQ("fork", gone[0].stage);
  ASSERT_TRUE(run_until([&] { return !lost.empty(); }));
  EXPECT_EQ(9, lost[0].status);
}

TEST_F(ForkServerTest, WhichNeverForksIsGivenUpByASignal) {
  make_loaded("never-forks");
  launch(1).signal(SIGTERM);
  EXPECT_TRUE(gone.empty()) << "not from inside the call";
  ASSERT_TRUE(all_gone());
  EXPECT_EQ("it was given up before it said HELLO", gone[0].cause);
}

TEST_F(ForkServerTest, WhichIsStuckDoesNotBlockTheLoopHoweverManyForksWait) {
  make_loaded("never-forks");
  std::uint64_t id = 0;
  for (; id < 300; ++id) launch(id + 1);
  for (const auto& link : links) link->signal(SIGKILL);
  EXPECT_TRUE(all_gone(id));
}

// --- workers that break the contract

TEST_F(ForkServerTest, AWorkerThatDiesBeforeHelloIsGoneWithItsExitStatus) {
  make_loaded("good", "dies-before-hello");
  for (std::uint64_t id = 1; id <= 10; ++id) launch(id);
  ASSERT_TRUE(all_gone(10));
  for (const Exit& exit : gone) {
    EXPECT_EQ(3, exit.status);
    EXPECT_GT(exit.pid, 0);
    EXPECT_EQ("it ended before it said HELLO", exit.cause);
    EXPECT_TRUE(is_gone(exit.pid));
  }
  EXPECT_EQ(0u, orphans->reaped());
}

TEST_F(ForkServerTest, AWorkerThatIsKilledBeforeHelloIsGoneWithItsSignal) {
  make_loaded("good", "is-killed-before-hello");
  launch(1);
  ASSERT_TRUE(all_gone());
  EXPECT_EQ(SIGKILL, gone[0].signal);
}

TEST_F(ForkServerTest, DoesNotTouchAProcessThatIsNoChildWhateverAForkServerSays) {
  make_loaded("tells-a-strangers-pid", "dies-before-hello");
  WorkerLink& link = launch(1);
  run_for(std::chrono::milliseconds(300));
  link.signal(SIGKILL);
  ASSERT_TRUE(all_gone());
  EXPECT_EQ("fork", gone[0].stage);
}

TEST_F(ForkServerTest, AWorkerThatDiesBeforeHelloAndWasNotToldOfIsGoneAndNoZombie) {
  make_loaded("tells-no-pids", "dies-before-hello");
  launch(1);
  ASSERT_TRUE(all_gone());
  EXPECT_EQ("fork", gone[0].stage);
  EXPECT_EQ("it ended before it said HELLO", gone[0].cause);
  EXPECT_TRUE(run_until([&] { return orphans->reaped() == 1; }));
}

TEST_F(ForkServerTest, AWorkerThatDiesAfterHelloKeepsItsStatus) {
  make_loaded("good", "hello-and-dies");
  for (std::uint64_t id = 1; id <= 10; ++id) launch(id);
  ASSERT_TRUE(all_gone(10));
  for (const Exit& exit : gone) EXPECT_EQ(5, exit.status);
  EXPECT_EQ(0u, orphans->reaped());
}

TEST_F(ForkServerTest, AWorkerTellsWhyItExitsAndWhenItIsNextNeeded) {
  make_loaded("good", "error-and-exit");
  launch(1);
  ASSERT_TRUE(all_gone());
  EXPECT_THAT(next_due, ElementsAre("1700000000"));
  EXPECT_EQ(3, gone[0].status);
  EXPECT_EQ("line one\nline two", gone[0].cause);
  EXPECT_THAT(statuses, ElementsAre("starting"));
}

TEST_F(ForkServerTest, RefusesAWorkerOfAnotherContractVersion) {
  make_loaded("good", "wrong-version");
  WorkerLink& link = launch(1);
  ASSERT_TRUE(run_until([&] { return !refused.empty(); }));
  EXPECT_EQ("it speaks version 7 of the contract, moult speaks 1", refused[0]);
  link.signal(SIGKILL);
  ASSERT_TRUE(all_gone());
  EXPECT_EQ(refused[0], gone[0].cause);
  EXPECT_TRUE(ready.empty() && started.empty());
}

TEST_F(ForkServerTest, RefusesAWorkerWhoseFirstWordIsNotHello) {
  make_loaded("good", "says-no-hello");
  launch(1);
  ASSERT_TRUE(all_gone());
  EXPECT_THAT(refused, ElementsAre("its first message is not HELLO"));
  EXPECT_TRUE(ready.empty());
}

TEST_F(ForkServerTest, RefusesABadMessageAndCountsIt) {
  make_loaded("good", "garbage");
  WorkerLink& link = launch(1);
  ASSERT_TRUE(run_until([&] { return !refused.empty(); }));
  EXPECT_THAT(refused[0], HasSubstr("bad message"));
  EXPECT_EQ(1u, launcher->refused_messages());
  EXPECT_FALSE(is_gone(link.pid())) << "what becomes of it is not the link's to say";
}

TEST_F(ForkServerTest, DoesNotHearAnotherProcessOnAWorkersChannel) {
  make_loaded("good", "child-speaks");
  launch(1);
  ASSERT_TRUE(run_until([&] { return !statuses.empty(); }));
  EXPECT_TRUE(ready.empty());
  EXPECT_TRUE(refused.empty()) << "it is not the worker's fault";
  EXPECT_EQ(1u, launcher->refused_messages());
}

// --- output

TEST_F(ForkServerTest, GivesEachWorkersOutputItsPrefix) {
  make_loaded("good", "speaks", OutputRoute::prefixed);
  WorkerLink& link = launch(1, 2);
  ASSERT_TRUE(run_until([&] { return !ready.empty(); }));
  link.retire(never, Adopters::some);
  ASSERT_TRUE(all_gone());
  EXPECT_THAT(lines, testing::UnorderedElementsAre("out:[2] to stdout", "err:[2] to stderr", "out:[2] its last words"));
}

TEST_F(ForkServerTest, RelaysTheOutputOfAllWorkers) {
  make_loaded("good", "speaks", OutputRoute::relay);
  launch(1);
  ASSERT_TRUE(run_until([&] { return lines.size() == 2; }));
  EXPECT_THAT(lines, testing::UnorderedElementsAre("out:to stdout", "err:to stderr"));
}
}  // namespace
}  // namespace moult
