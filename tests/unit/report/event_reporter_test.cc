#include "master/report/event_reporter.h"

#include <gmock/gmock.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/unit/report/testing.h"
namespace moult {
namespace {
using nlohmann::json;
using ::testing::ElementsAre;
using testing::exited;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::killed_by;
using namespace std::chrono_literals;

// A reporter whose log and events go to files, which are read when it is over.
class Reported {
 public:
  Reported() : log_file_(::open((dir_ / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
    log_ = std::move(*Log::start({.fd = log_file_.get()}));
    events_ = std::move(*EventLog::open({dir_ / "events", "shop", [](const std::string&) {}}));
    reporter_.emplace(EventReporterParts{*log_, events_.get(), kills_, "0.1.0", [this] { return Clocks{now_, {}}; }});
  }
  EventReporter* operator->() { return &*reporter_; }
  void pass(Duration time) { now_ += time; }

  // What was logged so far, without the head; then it is over.
  std::vector<std::string> messages() {
    log_.reset();
    std::vector<std::string> messages;
    for (const std::string& line : testing::lines_of(testing::contents(dir_ / "log"))) {
      const std::size_t head = line.rfind("] ");
      messages.push_back(head == std::string::npos ? line : line.substr(head + 2));
    }
    return messages;
  }
  std::vector<json> events() {
    events_.reset();
    std::vector<json> events;
    for (const std::string& line : testing::lines_of(testing::contents(dir_ / "events")))
      events.push_back(json::parse(line));
    return events;
  }
  std::vector<std::string> event_names() {
    std::vector<std::string> names;
    for (const json& each : events()) names.push_back(each.at("event"));
    return names;
  }

 private:
  const testing::TempDir dir_;
  const UniqueFd log_file_;
  MonotonicTime now_{};
  OomKills kills_{"/nowhere"};
  std::unique_ptr<Log> log_;
  std::unique_ptr<EventLog> events_;
  std::optional<EventReporter> reporter_;
};

Worker worker(std::uint64_t id, WorkerState state, std::uint64_t generation = 1) {
  Worker made{.id = WorkerId{id}, .slot = static_cast<unsigned>(id - 1), .generation = Generation{generation}};
  made.state = state;
  return made;
}

TEST(EventReporter, SaysAWholeLife) {
  Reported reported;
  reported->master_started();
  reported->load_started(Generation{1});
  reported->generation_proven(Generation{1});
  reported->worker_serving(worker(1, WorkerState::serving), 71);
  reported.pass(90s);
  reported->worker_retiring(worker(1, WorkerState::retiring), 71);
  reported->worker_gone(worker(1, WorkerState::retiring), exited(0));
  reported->stop_finished(0);
  reported->master_stopped(0);
  EXPECT_THAT(reported.messages(),
              ElementsAre("moult 0.1.0 starts", "generation 1: loading the app", "generation 1 serves",
                          "worker 0 (pid 71) serves", "worker 0 (pid 71) retires", "worker 0 (pid 71) has ended",
                          "stopped, exit status 0"));
  const auto events = reported.events();
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].at("event"), "master_started");
  EXPECT_EQ(events[1].at("event"), "worker_ready");
  EXPECT_EQ(events[2].at("event"), "worker_exited");
  EXPECT_EQ(events[2].at("uptime_seconds"), 90.0);
  EXPECT_EQ(events[3].at("event"), "master_stopped");
}

TEST(EventReporter, LogsTheCauseOfAFailedBootOncePerChange) {
  Reported reported;
  const Worker booting = worker(1, WorkerState::booting);
  for (int i = 0; i < 13; ++i) reported->boot_failed(booting, exited(1, "Traceback\nValueError"));
  reported->boot_failed(booting, exited(1, "Traceback\nKeyError"));
  EXPECT_THAT(reported.messages(),
              ElementsAre("worker 0 (pid 71) could not boot: exited with status 1", "Traceback", "ValueError",
                          "the cause before that came 12 more times",
                          "worker 0 (pid 71) could not boot: exited with status 1", "Traceback", "KeyError"));
  const auto events = reported.events();
  ASSERT_EQ(events.size(), 14u);
  EXPECT_EQ(events[0].at("cause"), "Traceback\nValueError");
  EXPECT_EQ(events[12].at("same_cause"), 12);
  EXPECT_FALSE(events[12].contains("cause"));
  EXPECT_EQ(events[13].at("cause"), "Traceback\nKeyError");
}

TEST(EventReporter, RemindsOfALastingCauseOnceAMinute) {
  Reported reported;
  for (int i = 0; i < 5; ++i) {
    reported->boot_failed(worker(1, WorkerState::booting), exited(1));
    reported.pass(30s);
  }
  EXPECT_THAT(reported.messages(), ElementsAre("worker 0 (pid 71) could not boot: exited with status 1",
                                               "worker 0 (pid 71) could not boot: same cause 2 more times",
                                               "worker 0 (pid 71) could not boot: same cause 2 more times"));
}

TEST(EventReporter, SaysHowOftenBootsFailedWhenOneServesAtLast) {
  Reported reported;
  for (int i = 0; i < 3; ++i) reported->boot_failed(worker(1, WorkerState::booting), exited(1));
  reported->worker_serving(worker(1, WorkerState::serving), 71);
  EXPECT_THAT(reported.messages(),
              ElementsAre("worker 0 (pid 71) could not boot: exited with status 1",
                          "boots failed before this one: same cause 2 more times", "worker 0 (pid 71) serves"));
}

TEST(EventReporter, DoesNotForgetTheCauseBecauseOlderCodeServes) {
  Reported reported;
  reported->boot_failed(worker(1, WorkerState::booting, 2), exited(1));
  reported->worker_serving(worker(2, WorkerState::serving, 1), 71);
  reported->boot_failed(worker(1, WorkerState::booting, 2), exited(1));
  EXPECT_THAT(reported.messages(),
              ElementsAre("worker 0 (pid 71) could not boot: exited with status 1", "worker 1 (pid 71) serves"));
}

TEST(EventReporter, ACrashLoopAfterReadyDoesNotRepeatItsCause) {
  Reported reported;
  for (int i = 0; i < 50; ++i) {
    reported->worker_gone(worker(1, WorkerState::serving), killed_by(SIGSEGV));
    reported.pass(1s);
  }
  EXPECT_THAT(reported.messages(), ElementsAre("worker 0 (pid 71) is gone: killed by SIGSEGV"));
  EXPECT_EQ(reported.events().size(), 50u);
}

TEST(EventReporter, NamesAWorkerThatHadToBeKilledOrHung) {
  Reported reported;
  reported->worker_hung(worker(1, WorkerState::serving), 71, "no heartbeat for 30 s");
  reported->worker_gone(worker(1, WorkerState::killed), killed_by(SIGKILL));
  reported->worker_refused(worker(2, WorkerState::serving), 72, "an oversized message");
  EXPECT_THAT(reported.messages(),
              ElementsAre("worker 0 (pid 71) hangs and is stopped: no heartbeat for 30 s",
                          "worker 0 (pid 71) had to be killed: killed by SIGKILL",
                          "worker 1 (pid 72) breaks the contract and is replaced: an oversized message"));
}

TEST(EventReporter, ReportsAReloadFromItsLoadToItsLastOldWorker) {
  Reported reported;
  reported->load_started(Generation{1});
  reported->generation_proven(Generation{1});
  reported->worker_serving(worker(1, WorkerState::serving, 1), 71);
  reported->load_started(Generation{2});
  reported->generation_proven(Generation{2});
  reported->worker_serving(worker(2, WorkerState::serving, 2), 72);
  reported->worker_retiring(worker(1, WorkerState::retiring, 1), 71);
  EXPECT_THAT(reported.event_names(), ElementsAre("worker_ready", "reload_started", "worker_ready", "reload_finished"));
}

TEST(EventReporter, ReportsARejectedReloadAndWhoServesOn) {
  Reported reported;
  reported->load_started(Generation{1});
  reported->generation_proven(Generation{1});
  reported->load_started(Generation{2});
  reported->generation_rejected(Generation{2}, "ImportError");
  EXPECT_THAT(reported.messages(),
              ElementsAre("generation 1: loading the app", "generation 1 serves", "generation 2: loading the app",
                          "generation 2 does not come up; generation 1 serves on: ImportError",
                          "reload to generation 2: rejected"));
  const auto events = reported.events();
  EXPECT_EQ(events.back().at("outcome"), "rejected");
  EXPECT_EQ(events.back().at("error"), "ImportError");
}

TEST(EventReporter, ReportsTheDeathOfAForkServer) {
  Reported reported;
  reported->fork_server_gone(Generation{1}, killed_by(SIGKILL));
  EXPECT_THAT(reported.messages(), ElementsAre("the fork server of generation 1 is gone: killed by SIGKILL"));
  EXPECT_THAT(reported.event_names(), ElementsAre("fork_server_gone"));
}

TEST(EventReporter, SaysNothingToMachinesWithoutAnEventLog) {
  const testing::TempDir dir;
  const UniqueFd file(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  auto log = Log::start({.fd = file.get()});
  OomKills kills("/nowhere");
  EventReporter reporter({**log, nullptr, kills, "0.1.0"});
  reporter.master_started();
  reporter.stop_finished(0);
}
}  // namespace
}  // namespace moult
