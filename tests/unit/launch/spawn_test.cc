#include "master/launch/spawn.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/unit/launch/launch_loop.h"
namespace moult {
namespace {
using testing::HasSubstr;
using testing::StartsWith;

class Spawning : public LaunchLoop {
 protected:
  // What the program wrote to stdout, and how it ended.
  std::string output_of(SpawnRequest request, Exit* exit = nullptr) {
    int ends[2];
    EXPECT_EQ(0, ::pipe2(ends, O_CLOEXEC));
    const UniqueFd reading(ends[0]);
    UniqueFd writing(ends[1]);
    request.fds.push_back({writing.get(), 1});
    auto outcome = spawn(request);
    writing.reset();
    if (const auto* failed = std::get_if<Exit>(&outcome)) {
      if (exit) *exit = *failed;
      return "";
    }
    auto& spawned = std::get<Spawned>(outcome);
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = ::read(reading.get(), buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<std::size_t>(n));
    siginfo_t info{};
    EXPECT_EQ(0, ::waitid(P_PIDFD, static_cast<id_t>(spawned.pidfd.get()), &info, WEXITED));
    return text;
  }
  static Exit failure_of(const SpawnRequest& request) {
    const auto outcome = spawn(request);
    EXPECT_TRUE(std::holds_alternative<Exit>(outcome));
    return std::holds_alternative<Exit>(outcome) ? std::get<Exit>(outcome) : Exit{};
  }
};

TEST_F(Spawning, FailsAtExecWhenTheFileIsMissing) {
  const Exit exit = failure_of(request_of({"/nowhere/program"}));
  EXPECT_EQ("exec /nowhere/program: No such file or directory", describe(exit));
  EXPECT_EQ(ENOENT, exit.error);
  EXPECT_EQ(0, exit.pid);
}

TEST_F(Spawning, FailsAtExecWhenTheCommandIsNotOnPath) {
  const Exit exit = failure_of(request_of({"surely-no-such-command"}));
  EXPECT_EQ("exec surely-no-such-command", exit.stage);
  EXPECT_EQ(ENOENT, exit.error);
}

TEST_F(Spawning, FailsAtExecWhenTheFileIsNoProgram) {
  const TemporaryFolder folder;
  write_text(folder.file("notes"), "not a program");
  ::chmod(folder.file("notes").c_str(), 0755);
  EXPECT_EQ(ENOEXEC, failure_of(request_of({folder.file("notes")})).error);
}

TEST_F(Spawning, FailsAtChdirWhenTheFolderIsMissing) {
  SpawnRequest request = shell("true");
  request.directory = "/nowhere";
  const Exit exit = failure_of(request);
  EXPECT_EQ("chdir /nowhere", exit.stage);
  EXPECT_EQ(ENOENT, exit.error);
}

TEST_F(Spawning, FailsAtDupWhenADescriptorIsNotOpen) {
  SpawnRequest request = shell("true");
  request.fds = {{999, 5}};
  const Exit exit = failure_of(request);
  EXPECT_EQ("dup2", exit.stage);
  EXPECT_EQ(EBADF, exit.error);
}

TEST_F(Spawning, FailsAtSetgroupsOrSetuidWithoutTheRight) {
  // As nobody, in a child of our own, since the tests may run as root.
  SpawnRequest request = shell("true");
  request.identity = Identity{0, 0, {}};
  const pid_t helper = ::fork();
  if (helper == 0) {
    if (::getuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(3);
    const auto outcome = spawn(request);
    const auto* exit = std::get_if<Exit>(&outcome);
    ::_exit(exit && exit->stage == "setgroups" && exit->error == EPERM ? 0 : 1);
  }
  int status = -1;
  ::waitpid(helper, &status, 0);
  EXPECT_EQ(0, status);
}

TEST_F(Spawning, LeavesNoZombieAfterAFailure) {
  failure_of(request_of({"/nowhere/program"}));
  siginfo_t info{};
  EXPECT_EQ(-1, ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT));
  EXPECT_EQ(ECHILD, errno);
}

TEST_F(Spawning, LooksForTheCommandOnThePathOfTheChild) {
  const TemporaryFolder folder;
  write_text(folder.file("greet"), "#!/bin/sh\necho from the folder\n");
  ::chmod(folder.file("greet").c_str(), 0755);
  SpawnRequest request;
  request.command = {"greet"};
  request.environment = {"PATH=relative:/nowhere:" + folder.file("")};
  EXPECT_EQ("from the folder\n", output_of(request));
}

TEST_F(Spawning, PutsDescriptorsUnderTheirNumbersThoughTheyOverlap) {
  const TemporaryFolder folder;
  write_text(folder.file("a"), "a");
  write_text(folder.file("b"), "b");
  const UniqueFd a(::open(folder.file("a").c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd b(::open(folder.file("b").c_str(), O_RDONLY | O_CLOEXEC));
  SpawnRequest request =
      request_of({"/bin/cat", "/proc/self/fd/" + std::to_string(a.get()), "/proc/self/fd/" + std::to_string(b.get())});
  request.fds = {{a.get(), b.get()}, {b.get(), a.get()}};  // swapped
  EXPECT_EQ("ba", output_of(request));
}

TEST_F(Spawning, GivesTheChildNoOtherDescriptor) {
  const UniqueFd stray(::open("/dev/null", O_RDONLY));  // not CLOEXEC: as one that moult's own parent left open
  // `ls` has its own descriptor of the folder.
  EXPECT_EQ("0\n1\n2\n3\n", output_of(shell("ls /proc/self/fd")));
}

TEST_F(Spawning, StartsWithStdinFromNowhere) { EXPECT_EQ("/dev/null\n", output_of(shell("readlink /proc/self/fd/0"))); }

TEST_F(Spawning, LeadsAProcessGroupAndDiesWithMoult) {
  const std::string script =
      "import os, ctypes, sys\n"
      "signal = ctypes.c_int()\n"
      "ctypes.CDLL(None).prctl(2, ctypes.byref(signal))\n"
      "print(os.getpgrp() == os.getpid(), signal.value)\n";
  EXPECT_EQ("True 9\n", output_of(request_of({"/usr/bin/python3", "-c", script})));
}

TEST_F(Spawning, ResetsSignalsToTheirDefaultsAndBlocksNone) {
  struct sigaction before {};
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);
  sigset_t blocked, mask_before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &blocked, &mask_before);
  const std::string status = output_of(shell("grep -E '^Sig(Blk|Ign)' /proc/self/status"));
  ::sigprocmask(SIG_SETMASK, &mask_before, nullptr);
  ::sigaction(SIGPIPE, &before, nullptr);
  EXPECT_EQ("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n", status);
}

TEST_F(Spawning, SetsWorkingFolderUmaskAndSoftLimitOfOpenFiles) {
  SpawnRequest request = shell("pwd; umask; ulimit -Sn");
  request.directory = "/usr";
  request.umask = 027;
  request.open_files_soft = 123;
  EXPECT_EQ("/usr\n0027\n123\n", output_of(request));
}

TEST_F(Spawning, ChangesUserGroupAndGroups) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root";
  SpawnRequest request = shell("id -u; id -g; id -G");
  request.identity = Identity{65534, 1234, {1234, 2345}};
  EXPECT_EQ("65534\n1234\n1234 2345\n", output_of(request));
}

TEST_F(Spawning, StillDiesWithMoultAfterAChangeOfUser) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root";
  SpawnRequest request = request_of({"/usr/bin/python3", "-c",
                                     "import ctypes\ns = ctypes.c_int()\n"
                                     "ctypes.CDLL(None).prctl(2, ctypes.byref(s))\nprint(s.value)"});
  request.identity = Identity{65534, 65534, {}};
  EXPECT_EQ("9\n", output_of(request));
}

TEST_F(Spawning, IsPreferredByTheOomKillerAlsoAsAnotherUser) {
  SpawnRequest request = shell("cat /proc/self/oom_score_adj");
  const int wanted = oom_score_adj_above_ours(500);
  request.oom_score_adj = wanted;
  if (::getuid() == 0) request.identity = Identity{65534, 65534, {}};
  EXPECT_EQ(std::to_string(wanted) + "\n", output_of(request));
  EXPECT_LE(oom_score_adj_above_ours(5000), 1000);
}

TEST_F(Spawning, TellsTheChildItsOwnPidInListenPid) {
  SpawnRequest request = shell("[ \"$LISTEN_PID\" = $$ ] && echo its own");
  request.says_listen_pid = true;
  EXPECT_EQ("its own\n", output_of(request));
}
}  // namespace
}  // namespace moult
