#include "master/report/call_reporter.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "master/report/schedule_json.h"
#include "tests/unit/report/testing.h"
namespace moult {
namespace {
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr WallTime due{24h * 20000 + 3h};

EndedCall answered(int status) {
  return {.name = "poll", .due = due, .outcome = CallOutcome::answered, .status = status, .took = 310ms};
}
EndedCall ended(CallOutcome outcome) { return {.name = "poll", .due = due, .outcome = outcome, .took = 2s}; }

struct Kept : EventSink {
  void write(const Event& event, WallTime at) override { lines.push_back(json::parse(event_line(event, "shop", at))); }
  std::vector<json> lines;
};

struct CallReporterTest : ::testing::Test {
  testing::TempDir dir;
  UniqueFd file{::open((dir / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
  std::unique_ptr<Log> log = std::move(*Log::start({.fd = file.get()}));
  Kept events;
  CallReporter reporter{{*log, &events}};

  std::vector<std::string> said() {
    log.reset();
    std::vector<std::string> lines;
    for (const std::string& line : testing::lines_of(testing::contents(dir / "log")))
      lines.push_back(line.substr(line.rfind("] ") + 2));
    return lines;
  }
};

TEST_F(CallReporterTest, EachEndIsOneEvent) {
  reporter.ended(answered(204));
  EndedCall lost = ended(CallOutcome::lost);
  lost.took = {};
  lost.holder = "host-b";
  reporter.ended(lost);
  ASSERT_EQ(events.lines.size(), 2u);
  const json& first = events.lines[0];
  EXPECT_EQ(first.at("event"), "scheduled_call");
  EXPECT_EQ(first.at("name"), "poll");
  EXPECT_EQ(first.at("due"), "2024-10-04T03:00:00.000Z");
  EXPECT_EQ(first.at("status"), 204);
  EXPECT_EQ(first.at("duration_seconds"), 0.31);
  EXPECT_EQ(first.at("outcome"), "answered");
  EXPECT_EQ(first.at("by_hand"), false);
  EXPECT_EQ(events.lines[1].at("status"), nullptr) << "an undelivered call carries no status";
  EXPECT_EQ(events.lines[1].at("holder"), "host-b");
}

TEST_F(CallReporterTest, TheLogSaysAFailureOnceAndItsEnd) {
  for (int i = 0; i < 3; ++i) reporter.ended(answered(200));
  for (int i = 0; i < 3; ++i) reporter.ended(answered(503));
  for (int i = 0; i < 3; ++i) reporter.ended(ended(CallOutcome::timed_out));
  reporter.ended(ended(CallOutcome::claimed_elsewhere));
  for (int i = 0; i < 3; ++i) reporter.ended(answered(200));
  EXPECT_THAT(said(), ElementsAre(HasSubstr("'poll' (due 2024-10-04T03:00:00.000Z) was answered 503"),
                                  HasSubstr("was sent, and not answered within its timeout"),
                                  "the scheduled call 'poll' is answered again"));
}

TEST(ScheduleJson, HasTheKeysThatOthersDependOn) {
  ScheduleDescription schedule;
  schedule.calls.push_back({"poll", "every 5m", "POST", "/poll", Scope::fleet, 60s, CallState::waiting, due, 200});
  json shown = schedule_json(schedule).at(0);
  EXPECT_EQ(shown.at("name"), "poll");
  EXPECT_EQ(shown.at("next_at"), "2024-10-04T03:00:00.000Z");
  EXPECT_EQ(shown.at("last_status"), 200);
  EXPECT_EQ(shown.at("scope"), "fleet");
  EXPECT_EQ(shown.at("last_outcome"), nullptr);
  EXPECT_FALSE(shown.contains("holds_awake")) << "not known here";
  schedule.calls[0].holds_awake = true;
  schedule.calls[0].holds_awake_words = "yes: ...";
  schedule.calls[0].last = answered(200);
  shown = schedule_json(schedule).at(0);
  EXPECT_EQ(shown.at("holds_awake"), true);
  EXPECT_EQ(shown.at("last_duration_seconds"), 0.31);
}

}  // namespace
}  // namespace moult
