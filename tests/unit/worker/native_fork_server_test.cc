#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "tests/unit/worker/playing_master.h"

namespace moult::testing_native {
namespace {
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string load_error(const ServerPlan& plan) {
  PlayingServer server(plan);
  const Message message = next_message(server.channel());
  EXPECT_TRUE(message.has("LOAD_FAILED"));
  await_end(server.channel());
  EXPECT_EQ(server.exit_status(), 1);
  return unescape(message.find("ERROR").value_or("no error"));
}

ServerPlan with_preload(const std::string& order, const std::string& preload = "on") {
  return {.preload = preload, .in_child = [order] { ::setenv("MOULT_TEST_PRELOAD", order.c_str(), 1); }};
}

Message not_forked(PlayingServer& server, unsigned id) {
  try {
    PlayingWorker::born(server, id, 0);
  } catch (const NotForked& instead) { return instead.said; }
  return {{"BORN", "1"}};
}

struct Outputs {
  UniqueFd read_end, write_end;
  Outputs() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    read_end.reset(ends[0]);
    write_end.reset(ends[1]);
  }
};

TEST(NativeForkServer, LoadsAnAppAndSaysSo) {
  PlayingServer server({});
  EXPECT_EQ(next_message(server.channel()), (Message{{"LOADED", "1"}, {"SERVER", "native"}}));
  server.close_channel();
  EXPECT_EQ(server.exit_status(), 0);
}

TEST(NativeForkServer, ForksAWorkerThatIsTheMastersChildAndAloneInItsGroup) {
  PlayingServer server({.server_options = R"({"color":"blue"})"});
  next_message(server.channel());
  PlayingWorker worker = PlayingWorker::born(server, 41, 3);
  EXPECT_EQ(
      next_message(worker.channel).find("STATUS"),
      "slot=3 parent=" + std::to_string(::getpid()) + " leader=1 death=9 oom=500 handlers=0 blocked=0 color=blue");
  EXPECT_EQ(next_message(worker.channel), (Message{{"READY", "1"}, {"DRAIN", "own"}}));
  const auto sent = worker.channel.send(Message{{"RETIRE", "1"}}.add("DEADLINE_USEC", std::uint64_t{1}));
  ASSERT_TRUE(sent && *sent == Sent::sent);
  EXPECT_EQ(worker.exit_status(), 7);
  await_end(worker.channel);
}

TEST(NativeForkServer, ASpareStartsWaitsAndServesOnceItHasItsSlot) {
  PlayingServer server({.server_options = R"({"start":"say"})"});
  next_message(server.channel());
  PlayingWorker spare = PlayingWorker::born(server, 41, std::nullopt);
  EXPECT_EQ(next_message(spare.channel), (Message{{"STATUS", "starts as a spare"}}));
  EXPECT_EQ(next_message(spare.channel), (Message{{"PARKED", "1"}}));
  ::kill(spare.pid, SIGUSR1);  // log files are to be opened anew: not its affair yet
  ASSERT_TRUE(spare.channel.send({{"GO", "1"}, {"SLOT", "2"}}));
  EXPECT_THAT(std::string(next_message(spare.channel).find("STATUS").value_or("")),
              AllOf(StartsWith("slot=2 "), HasSubstr(" handlers=0 ")));
  EXPECT_TRUE(next_message(spare.channel).has("READY"));
  ASSERT_TRUE(spare.channel.send({{"RETIRE", "1"}}));
  EXPECT_EQ(spare.exit_status(), 7);
}

TEST(NativeForkServer, ASpareThatWaitsEndsAtASignalAndWithItsChannel) {
  PlayingServer server({});
  next_message(server.channel());
  for (const int number : {SIGTERM, SIGINT}) {
    PlayingWorker spare = PlayingWorker::born(server, 1, std::nullopt);
    EXPECT_TRUE(next_message(spare.channel).has("PARKED"));
    ::kill(spare.pid, number);
    EXPECT_EQ(spare.exit_status(), 0);
  }
  pid_t left = 0;
  {
    PlayingWorker spare = PlayingWorker::born(server, 1, std::nullopt);
    EXPECT_TRUE(next_message(spare.channel).has("PARKED"));
    left = spare.pid;
  }
  EXPECT_EQ(exit_status_of(left), 0);
}

TEST(NativeForkServer, AStartThatFailsIsAFailedBoot) {
  PlayingServer server({.server_options = R"({"start":"throw"})"});
  next_message(server.channel());
  PlayingWorker worker = PlayingWorker::born(server, 1, std::nullopt);
  EXPECT_EQ(next_message(worker.channel), (Message{{"ERROR", "moult_worker_start() threw: no database"}}));
  EXPECT_EQ(worker.exit_status(), 1);
  PlayingServer other({.server_options = R"({"start":"fail"})"});
  next_message(other.channel());
  EXPECT_EQ(PlayingWorker::born(other, 1, 0).exit_status(), 5);
}

TEST(NativeForkServer, GivesAWorkerItsOwnOutputAndNothingThatTheServerHadBuffered) {
  Outputs servers, out, err;
  PlayingServer server({.in_child = [&] { ::dup2(servers.write_end.get(), 1); }});
  servers.write_end.reset();
  next_message(server.channel());
  PlayingWorker worker = PlayingWorker::born(server, 1, 0, {out.write_end.get(), err.write_end.get()});
  out.write_end.reset();
  err.write_end.reset();
  ASSERT_TRUE(worker.channel.send({{"RETIRE", "1"}}));
  EXPECT_EQ(worker.exit_status(), 7);
  EXPECT_EQ(output_so_far(out.read_end.get()), "to stdout\n");
  EXPECT_EQ(output_so_far(err.read_end.get()), "to stderr\n");
  server.close_channel();
  server.exit_status();
  EXPECT_EQ(output_so_far(servers.read_end.get()), "loaded\n");
}

TEST(NativeForkServer, EndsAtTheEndOfItsChannelAndItsWorkersLiveOn) {
  PlayingServer server({});
  next_message(server.channel());
  PlayingWorker worker = PlayingWorker::born(server, 1, 0);
  server.close_channel();
  EXPECT_EQ(server.exit_status(), 0);
  EXPECT_TRUE(next_message(worker.channel).has("STATUS"));
  EXPECT_TRUE(next_message(worker.channel).has("READY"));
  EXPECT_EQ(::kill(worker.pid, 0), 0);
  ASSERT_TRUE(worker.channel.send({{"RETIRE", "1"}}));
  EXPECT_EQ(worker.exit_status(), 7);
}

TEST(NativeForkServer, ItsDeathIsSeenByTheMasterThoughItsWorkersLive) {
  PlayingServer server({});
  next_message(server.channel());
  const PlayingWorker worker = PlayingWorker::born(server, 1, 0);
  ::kill(server.pid(), SIGKILL);
  await_end(server.channel());
  EXPECT_EQ(server.exit_status(), 1000 + SIGKILL);
  ::kill(worker.pid, SIGKILL);
  EXPECT_EQ(worker.exit_status(), 1000 + SIGKILL);
}

TEST(NativeForkServer, LeavesCtrlCToTheMasterAndEndsAtTerm) {
  PlayingServer server({});
  next_message(server.channel());
  for (const int number : {SIGINT, SIGQUIT, SIGHUP}) ::kill(server.pid(), number);
  PlayingWorker worker = PlayingWorker::born(server, 1, 0);
  ::kill(server.pid(), SIGTERM);
  EXPECT_EQ(server.exit_status(), 1000 + SIGTERM);
  ::kill(worker.pid, SIGTERM);
  EXPECT_EQ(worker.exit_status(), 1000 + SIGTERM);
}

TEST(NativeForkServer, AndItsWorkersDieWithTheMaster) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // they are ours once their master is gone
  Outputs pids;
  const pid_t master = ::fork();
  if (master == 0) {
    PlayingServer server({});
    next_message(server.channel());
    const PlayingWorker worker = PlayingWorker::born(server, 1, 0);
    const pid_t both[] = {server.pid(), worker.pid};
    if (::write(pids.write_end.get(), both, sizeof both) != sizeof both) ::_exit(1);
    while (true) ::pause();
  }
  pid_t both[2] = {};
  ASSERT_EQ(::read(pids.read_end.get(), both, sizeof both), static_cast<ssize_t>(sizeof both));
  ::kill(master, SIGKILL);
  EXPECT_EQ(exit_status_of(master), 1000 + SIGKILL);
  EXPECT_THAT(exit_status_of(both[0]), AnyOf(1000 + SIGKILL, 0)) << "by the signal, or at the end of its channel";
  constexpr int heard_the_end = 8;  // the test app's own word for a channel that ended
  EXPECT_THAT(exit_status_of(both[1]), AnyOf(1000 + SIGKILL, heard_the_end)) << "whichever came first";
}

TEST(NativeForkServer, SaysWhyAnAppDidNotLoad) {
  EXPECT_THAT(load_error({.app = "/nowhere/app.so"}),
              StartsWith("cannot load the app: /nowhere/app.so: cannot open shared object file"));
  EXPECT_THAT(load_error(with_preload("fail")), "cannot load the app: moult_preload() returned 3");
  EXPECT_EQ(load_error(with_preload("throw")), "cannot load the app: moult_preload() threw: no database\nanywhere");
}

TEST(NativeForkServer, RefusesASharedObjectThatIsNoApp) {
  Dl_info library{};
  ASSERT_NE(::dladdr(::dlsym(RTLD_DEFAULT, "getpid"), &library), 0);
  EXPECT_THAT(load_error({.app = library.dli_fname}),
              EndsWith(R"(has no function moult_worker_main (declare it extern "C"))"));
}

TEST(NativeForkServer, RefusesSettingsThatItDoesNotUnderstand) {
  EXPECT_THAT(load_error({.settings = R"({"version":2})"}),
              StartsWith("the settings are of version 2, this fork server speaks version 1"));
  EXPECT_THAT(load_error({.settings = "{"}), StartsWith("the settings are not understood"));
  EXPECT_THAT(load_error({.settings = R"({"version":1})"}), HasSubstr("master_pid"));
  EXPECT_THAT(load_error({.settings = R"({"version":1,"post_fork":"a:b"})"}),
              StartsWith("--post-fork names a Python function"));
}

TEST(NativeForkServer, WarnsOfThreadsAndSocketsThatWorkersCannotShare) {
  for (const auto& [order, words] : {std::pair("thread", "has started threads"), {"socket", "has connected sockets"}}) {
    PlayingServer server(with_preload(order));
    const Message loaded = next_message(server.channel());
    EXPECT_TRUE(loaded.has("LOADED"));
    EXPECT_THAT(std::string(loaded.find("WARNING").value_or("")), HasSubstr(words));
    EXPECT_THAT(load_error(with_preload(order, "strict")), HasSubstr(words));
  }
}

TEST(NativeForkServer, LoadsTheAppInEachWorkerWhenPreloadIsOff) {
  PlayingServer server(with_preload("", "off"));
  EXPECT_TRUE(next_message(server.channel()).has("LOADED"));
  PlayingWorker worker = PlayingWorker::born(server, 1, 0);
  EXPECT_TRUE(next_message(worker.channel).has("STATUS"));
  ASSERT_TRUE(worker.channel.send({{"RETIRE", "1"}}));
  EXPECT_EQ(worker.exit_status(), 7);
}

TEST(NativeForkServer, SaysInAWorkersLastWordsWhyItsAppDidNotLoad) {
  PlayingServer server(with_preload("fail", "off"));
  EXPECT_TRUE(next_message(server.channel()).has("LOADED"));
  PlayingWorker worker = PlayingWorker::born(server, 1, 0);
  EXPECT_EQ(next_message(worker.channel).find("ERROR"), "cannot load the app: moult_preload() returned 3");
  EXPECT_EQ(worker.exit_status(), 1);
}

TEST(NativeForkServer, MakesAnExceptionOfAWorkerItsLastWords) {
  PlayingServer server({.server_options = R"({"main":"throw"})"});
  next_message(server.channel());
  PlayingWorker worker = PlayingWorker::born(server, 1, 0);
  EXPECT_EQ(next_message(worker.channel).find("ERROR"), "moult_worker_main() threw: no luck");
  EXPECT_EQ(worker.exit_status(), 1);
}

TEST(NativeForkServer, SaysThatAWorkerCouldNotStartBecauseTheMasterIsNoSubreaper) {
  PlayingServer server({});
  next_message(server.channel());
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  PlayingWorker worker = PlayingWorker::born(server, 1, 0);
  EXPECT_EQ(worker.hello.find("ERROR"),
            "the worker could not start: waiting for the master as its parent, errno " + std::to_string(ECHILD));
  await_end(worker.channel);
}

TEST(NativeForkServer, SaysThatAForkCameWithoutItsDescriptorsAndServesOn) {
  PlayingServer server({});
  next_message(server.channel());
  ASSERT_TRUE(server.channel().send({{"FORK", "9"}, {"SLOT", "0"}}));
  EXPECT_EQ(next_message(server.channel()), (Message{{"FORK_FAILED", "9"}, {"STAGE", "recvmsg"}, {"ERRNO", "22"}}));
  ASSERT_TRUE(server.channel().send({{"EXITED", "1"}, {"SLOT", "0"}}));
  PlayingWorker worker = PlayingWorker::born(server, 10, 0);
  ::kill(worker.pid, SIGKILL);
  EXPECT_EQ(worker.exit_status(), 1000 + SIGKILL);
}

TEST(NativeForkServer, SaysThatItsTableIsFullAndServesOn) {
  PlayingServer server({});
  next_message(server.channel());
  rlimit before{}, full{};
  ASSERT_EQ(::prlimit(server.pid(), RLIMIT_NOFILE, nullptr, &before), 0);
  full = {4, before.rlim_max};  // 0, 1, 2 and its channel
  ASSERT_EQ(::prlimit(server.pid(), RLIMIT_NOFILE, &full, nullptr), 0);
  EXPECT_EQ(not_forked(server, 11),
            (Message{{"FORK_FAILED", "11"}, {"STAGE", "recvmsg"}, {"ERRNO", std::to_string(EMFILE)}}));
  ASSERT_EQ(::prlimit(server.pid(), RLIMIT_NOFILE, &before, nullptr), 0);
  PlayingWorker worker = PlayingWorker::born(server, 12, 0);
  ::kill(worker.pid, SIGKILL);
  EXPECT_EQ(worker.exit_status(), 1000 + SIGKILL);
}

// With one process allowed the first of the two forks fails, with two the second.
TEST(NativeForkServer, SaysWhichCallFailedWhenNoProcessCanBeHad) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become a user whose processes are limited";
  for (const rlim_t processes : {1, 2}) {
    PlayingServer server({.in_child = [processes] {
      const rlimit few{processes, processes};
      if (::setrlimit(RLIMIT_NPROC, &few) != 0 || ::setuid(65'533) != 0) ::_exit(125);
    }});
    next_message(server.channel());
    EXPECT_EQ(not_forked(server, 13),
              (Message{{"FORK_FAILED", "13"}, {"STAGE", "fork"}, {"ERRNO", std::to_string(EAGAIN)}}));
  }
}
}  // namespace
}  // namespace moult::testing_native
