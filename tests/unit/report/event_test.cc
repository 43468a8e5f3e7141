#include "master/report/event.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <nlohmann/json.hpp>

#include "master/control/event_filter.h"
#include "master/report/event_log.h"
#include "tests/unit/report/testing.h"
namespace moult {
namespace {
using nlohmann::json;

json made(const Event& event) {
  const std::string line = event_line(event, "shop", WallTime(std::chrono::milliseconds(1'500)));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  json fields = json::parse(line);
  EXPECT_EQ(fields.at("at"), "1970-01-01T00:00:01.500Z");
  EXPECT_EQ(fields.at("instance"), "shop");
  fields.erase("at");
  fields.erase("instance");
  return fields;
}

const WorkerSubject worker{2, 71, Generation{3}};

TEST(Event, MasterStarted) {
  EXPECT_EQ(made(MasterStarted{"0.1.0", 7}), json::parse(R"({"event":"master_started","version":"0.1.0","pid":7})"));
}

TEST(Event, MasterStopped) {
  EXPECT_EQ(made(MasterStopped{3, 1.5}),
            json::parse(R"({"event":"master_stopped","exit_status":3,"uptime_seconds":1.5})"));
}

TEST(Event, ASleepSaysWhyAndAWakeForWhomAndHowLongItTook) {
  using namespace std::chrono_literals;
  EXPECT_EQ(made(FellAsleep{SleepReason::idle, 120ms, 15min}),
            json::parse(R"({"event":"slept","reason":"idle","took_seconds":0.12,"awake_seconds":900.0})"));
  EXPECT_EQ(made(WokeUp{Waker::caller, 8ms, 1h}),
            json::parse(R"({"event":"woke","caller":"caller","latency_seconds":0.008,"asleep_seconds":3600.0})"));
}

TEST(Event, OneThatFailsSaysWhenItIsTriedAgainAndWhatTheCauseWas) {
  using namespace std::chrono_literals;
  EXPECT_EQ(made(FailedWake{Waker::operator_wish, 30s, 2s, "no such app"}),
            json::parse(R"({"event":"wake_failed","caller":"operator","latency_seconds":30.0,"retry_in_seconds":2.0,
              "cause":"no such app"})"));
  EXPECT_EQ(made(FailedStop{SleepReason::operator_wish, 1s, 30s, "--on-sleep failed"}),
            json::parse(R"({"event":"stop_failed","reason":"operator","took_seconds":1.0,"retry_in_seconds":30.0,
              "cause":"--on-sleep failed"})"));
}

TEST(Event, WorkerReadyCarriesSlotPidAndGeneration) {
  EXPECT_EQ(made(WorkerReadyEvent{worker}),
            json::parse(R"({"event":"worker_ready","slot":2,"pid":71,"generation":3})"));
}

TEST(Event, WorkerExitedNamesTheSignalAndWhetherMemoryWasShort) {
  EXPECT_EQ(made(WorkerExited{worker, WorkerState::serving, testing::killed_by(SIGKILL), true, 2.5}),
            json::parse(R"({"event":"worker_exited","slot":2,"pid":71,"generation":3,"state":"serving",
              "uptime_seconds":2.5,"exit_status":null,"signal":"SIGKILL","stage":null,"errno":null,"oom_killed":true})"));
}

TEST(Event, WorkerExitedLeavesUnknownThingsNull) {
  EXPECT_EQ(
      made(WorkerExited{{std::nullopt, 71, Generation{3}}, WorkerState::spare, testing::exited(0), std::nullopt, {}}),
      json::parse(R"({"event":"worker_exited","slot":null,"pid":71,"generation":3,"state":"spare",
              "uptime_seconds":null,"exit_status":0,"signal":null,"stage":null,"errno":null,"oom_killed":null})"));
}

TEST(Event, BootFailedCarriesTheCauseWhenItIsNew) {
  EXPECT_EQ(made(BootFailed{worker, testing::exited(1, "Traceback\nValueError"), false, 0}),
            json::parse(R"({"event":"boot_failed","slot":2,"pid":71,"generation":3,"exit_status":1,"signal":null,
              "stage":null,"errno":null,"oom_killed":false,"same_cause":0,"cause":"Traceback\nValueError"})"));
}

TEST(Event, BootFailedLeavesTheCauseOutWhenItIsTheSameAgain) {
  const json event = made(BootFailed{worker, testing::exited(1, "long"), false, 4});
  EXPECT_EQ(event.at("same_cause"), 4);
  EXPECT_FALSE(event.contains("cause"));
}

TEST(Event, BootFailedWithoutAProcessNamesStageAndErrno) {
  Exit never_born;
  never_born.stage = "fork";
  never_born.error = EAGAIN;
  const json event = made(BootFailed{{0, 0, Generation{1}}, never_born, false, 0});
  EXPECT_EQ(event.at("pid"), nullptr);
  EXPECT_EQ(event.at("stage"), "fork");
  EXPECT_EQ(event.at("errno"), EAGAIN);
}

TEST(Event, ForkServerGone) {
  EXPECT_EQ(made(ForkServerGone{Generation{2}, testing::killed_by(SIGSEGV)}),
            json::parse(R"({"event":"fork_server_gone","generation":2,"pid":71,"exit_status":null,"signal":"SIGSEGV",
              "stage":null,"errno":null})"));
}

TEST(Event, ReloadStartedAndFinished) {
  EXPECT_EQ(made(ReloadStarted{Generation{2}}), json::parse(R"({"event":"reload_started","generation":2})"));
  EXPECT_EQ(made(ReloadFinished{Generation{2}, "rejected", "ImportError"}),
            json::parse(R"({"event":"reload_finished","generation":2,"outcome":"rejected","error":"ImportError"})"));
  EXPECT_EQ(made(ReloadFinished{Generation{2}, "succeeded", ""}).at("error"), nullptr);
}

TEST(Event, TextThatIsNotUtf8IsStillALine) {
  EXPECT_EQ(made(ReloadFinished{Generation{2}, "rejected", "\xff"}).at("error"), "\xef\xbf\xbd");
}

TEST(Event, EachReasonOfASleepIsOneThatMoultEventsTakes) {
  for (const SleepReason why : {SleepReason::idle, SleepReason::operator_wish, SleepReason::failed_wake}) {
    const std::string reason = made(FellAsleep{.why = why}).at("reason");
    EXPECT_TRUE(check(EventFilter{.reason = reason})) << reason;
  }
}

TEST(EventLog, AppendsAndFollowsARename) {
  const testing::TempDir dir;
  const std::string path = dir / "events";
  std::ofstream(path) << "old\n";
  {
    auto log = EventLog::open({path, "shop", [](const std::string&) {}});
    ASSERT_TRUE(log);
    (*log)->write(ReloadStarted{Generation{1}}, {});
    ASSERT_TRUE(testing::eventually([&] { return testing::lines_of(testing::contents(path)).size() == 2; }));
    std::filesystem::rename(path, path + ".1");
    (*log)->reopen();
    (*log)->write(ReloadStarted{Generation{2}}, {});
  }
  EXPECT_EQ(testing::lines_of(testing::contents(path + ".1")).at(0), "old");
  EXPECT_EQ(json::parse(testing::contents(path)).at("generation"), 2);
}

TEST(EventLog, TellsOfAFullDiskOnceAndCounts) {
  std::atomic<int> told = 0;
  auto log = EventLog::open({"/dev/full", "shop", [&](const std::string& what) {
                               EXPECT_EQ(what,
                                         "events: cannot write to /dev/full: No space left on device; events are lost "
                                         "until that is mended");
                               ++told;
                             }});
  ASSERT_TRUE(log);
  for (int i = 0; i < 5; ++i) (*log)->write(ReloadStarted{Generation{1}}, {});
  EXPECT_TRUE(testing::eventually([&] { return (*log)->dropped() == 5; }));
  EXPECT_EQ(told, 1);
}

TEST(EventLog, GoesOnInTheOldFileWhereItCannotBeOpenedAnewAndSaysSoEachTime) {
  const testing::TempDir dir;
  std::filesystem::create_directory(dir / "sub");
  const std::string path = dir / "sub/events";
  std::mutex mutex;
  std::vector<std::string> told;
  const auto told_times = [&] {
    const std::lock_guard lock(mutex);
    return told.size();
  };
  auto log = EventLog::open({path, "shop", [&](const std::string& what) {
                               const std::lock_guard lock(mutex);
                               told.push_back(what);
                             }});
  ASSERT_TRUE(log);
  std::filesystem::rename(dir / "sub", dir / "moved");
  for (const std::size_t times : {1, 2}) {
    (*log)->reopen();
    EXPECT_TRUE(testing::eventually([&] { return told_times() == times; }));
  }
  (*log)->write(ReloadStarted{Generation{1}}, {});
  log->reset();
  EXPECT_THAT(told, ::testing::Each("events: cannot open " + path +
                                    " for writing: No such file or directory; they go on into the file that was open "
                                    "before: mend that, and send SIGUSR1 again"));
  EXPECT_EQ(testing::lines_of(testing::contents(dir / "moved/events")).size(), 1u);
}

TEST(EventLog, RefusesAFileThatCannotBeOpened) {
  EXPECT_FALSE(EventLog::open({"/nowhere/events", "shop", [](const std::string&) {}}));
}
}  // namespace
}  // namespace moult
