// ChildProcess and Orphans: who reaps whom.
#include <gmock/gmock.h>
#include <sys/prctl.h>

#include <optional>

#include "tests/unit/launch/launch_loop.h"
namespace moult {
namespace {
class Processes : public LaunchLoop {
 protected:
  std::unique_ptr<ChildProcess> start(const std::string& script) {
    auto outcome = spawn(shell(script));
    EXPECT_TRUE(std::holds_alternative<Spawned>(outcome));
    auto& spawned = std::get<Spawned>(outcome);
    auto process = ChildProcess::own(&loop, *orphans, spawned.pid, std::move(spawned.pidfd),
                                     {.dying = {}, .exited = [this](const Exit& exit) { exits.push_back(exit); }});
    EXPECT_TRUE(process);
    return std::move(*process);
  }
  static bool has_children() {
    siginfo_t info{};
    return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  }
  std::vector<Exit> exits;
};

TEST_F(Processes, AreReportedOnceWithTheirExitStatus) {
  const auto process = start("exit 42");
  ASSERT_TRUE(run_until([&] { return !exits.empty(); }));
  EXPECT_EQ(42, exits[0].status);
  EXPECT_EQ(process->pid(), exits[0].pid);
  run_for(std::chrono::milliseconds(50));
  EXPECT_EQ(1u, exits.size());
  EXPECT_FALSE(has_children());
}

TEST_F(Processes, AreReportedWithTheSignalThatKilledThem) {
  const auto process = start("sleep 100");
  process->signal(SIGTERM);
  ASSERT_TRUE(run_until([&] { return !exits.empty(); }));
  EXPECT_EQ(SIGTERM, exits[0].signal);
  EXPECT_FALSE(exits[0].status);
}

TEST_F(Processes, TakeTheirGroupWithThem) {
  const TemporaryFolder folder;
  const auto process = start("sleep 100 & echo $! > " + folder.file("pid") + "; exit 0");
  ASSERT_TRUE(run_until([&] { return !exits.empty(); }));
  const pid_t left_behind = std::stoi(text_of(folder.file("pid")));
  EXPECT_TRUE(run_until([&] { return is_gone(left_behind); })) << "killed, and reaped by the orphans' sweep";
}

TEST_F(Processes, AreKilledAndReapedWhenTheirOwnerGoes) {
  auto process = start("sleep 100");
  const pid_t pid = process->pid();
  process.reset();
  EXPECT_TRUE(run_until([&] { return is_gone(pid); }));
  EXPECT_TRUE(exits.empty());
}

TEST_F(Processes, CannotBeOwnedWhenTheyAreNoChildOfOurs) {
  const auto process = ChildProcess::own(&loop, *orphans, ::getpid(), {.dying = {}, .exited = [](const Exit&) {}});
  ASSERT_FALSE(process);
  EXPECT_EQ(ECHILD, process.error().code);
}

TEST_F(Processes, CannotBeOwnedTwice) {
  const auto process = start("sleep 100");
  const auto second = ChildProcess::own(&loop, *orphans, process->pid(), {.dying = {}, .exited = [](const Exit&) {}});
  ASSERT_FALSE(second);
  EXPECT_EQ(EEXIST, second.error().code);
  EXPECT_FALSE(is_gone(process->pid()));
}

TEST_F(Processes, KeepTheirStatusThoughASweepSeesThemFirst) {
  // Many die in one moment, owned ones and strangers mixed: the kernel lists them as it likes.
  std::vector<std::unique_ptr<ChildProcess>> owned;
  for (int i = 0; i < 20; ++i) {
    owned.push_back(start("exit " + std::to_string(100 + i)));
    const auto stranger = spawn(shell("exit 7"));
    ASSERT_TRUE(std::holds_alternative<Spawned>(stranger));
  }
  ASSERT_TRUE(run_until([&] { return exits.size() == 20 && orphans->reaped() == 20; }));
  for (const auto& process : owned) {
    const auto its = std::ranges::find(exits, process->pid(), &Exit::pid);
    ASSERT_NE(exits.end(), its);
    EXPECT_EQ(100 + (&process - owned.data()), its->status);
  }
  EXPECT_FALSE(has_children());
}

TEST_F(Processes, LeaveNoZombieOfAThousandOrphans) {
  const std::string script =
      "import os\n"
      "for i in range(1000):\n"
      "    if os.fork() == 0:\n"
      "        if os.fork() == 0: os._exit(i % 256)\n"
      "        os._exit(0)\n"
      "    os.wait()\n";
  auto outcome = spawn(request_of({"/usr/bin/python3", "-c", script}));
  auto& spawned = std::get<Spawned>(outcome);
  auto process = ChildProcess::own(&loop, *orphans, spawned.pid, std::move(spawned.pidfd),
                                   {.dying = {}, .exited = [this](const Exit& exit) { exits.push_back(exit); }});
  ASSERT_TRUE(process);
  ASSERT_TRUE(run_until([&] { return !exits.empty() && !has_children(); }));
  EXPECT_EQ(0, exits[0].status);
  EXPECT_EQ(1000u, orphans->reaped());
}

TEST_F(Processes, AreClaimedBeforeTheyCouldBeReapedAsStrangers) {
  // As with a worker that said HELLO and died before the master read it: it is known only when it is asked for.
  std::unique_ptr<ChildProcess> process;
  auto outcome = spawn(shell("exit 9"));
  const pid_t pid = std::get<Spawned>(outcome).pid;
  orphans->before_reaping_strangers([&] {
    if (process || !exits.empty()) return;
    auto owned = ChildProcess::own(&loop, *orphans, pid,
                                   {.dying = {}, .exited = [this](const Exit& exit) { exits.push_back(exit); }});
    ASSERT_TRUE(owned) << owned.error().message;
    process = std::move(*owned);
  });
  ASSERT_TRUE(run_until([&] { return !exits.empty(); }));
  EXPECT_EQ(9, exits[0].status);
  EXPECT_EQ(0u, orphans->reaped());
}
}  // namespace
}  // namespace moult
