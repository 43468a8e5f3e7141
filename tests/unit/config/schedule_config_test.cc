// `schedule` of the config file, all the way to Config.
#include <gmock/gmock.h>

#include "tests/unit/config/reading.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::HasSubstr;

const std::string poll = R"({"schedule": [{"name": "poll", "every": "5m", "path": "/poll"}]})";
const std::string of_fleet = R"({"schedule": [{"name": "poll", "every": 5, "path": "/p", "scope": "fleet"}]})";

TEST(ScheduleConfig, IsReadFromTheFile) {
  const Scratch scratch;
  const Config read = config({"a:b", "-c", scratch.file("m.json", poll)});
  ASSERT_EQ(read.schedule.calls.size(), 1u);
  EXPECT_EQ(read.schedule.calls[0].name, "poll");
  EXPECT_EQ(std::get<Every>(read.schedule.calls[0].when).period, 5min);
  EXPECT_EQ(read.schedule.calls[0].as_written, "every 5m");
  EXPECT_TRUE(config({"a:b", "-c", scratch.file("m.json", R"({"schedule": []})")}).schedule.calls.empty());
}

TEST(ScheduleConfig, AMistakeNamesTheFileAndTheEntry) {
  const Scratch scratch;
  const auto said = [&](const std::string& text) { return refusal({"a:b", "-c", scratch.file("m.json", text)}); };
  EXPECT_EQ(said(R"({"schedule": [{"name": "poll", "every": "5m"}]})"),
            scratch.path("m.json") + ": schedule: 'poll': path is missing");
  EXPECT_THAT(said(R"({"schedule": "x"})"), HasSubstr("m.json: schedule: must be an array of objects"));
  EXPECT_THAT(said(R"({"schedule": null})"), HasSubstr("m.json: schedule: is null: leave the key out"));
}

TEST(ScheduleConfig, ACommandCannotBeCalled) {
  const Scratch scratch;
  EXPECT_THAT(refusal({"-c", scratch.file("m.json", poll), "--", "/bin/sh"}),
              HasSubstr("m.json: schedule: a command cannot be called"));
}

TEST(ScheduleConfig, CallsOfTheFleetNeedItsStore) {
  const Scratch scratch;
  const std::string file = scratch.file("m.json", of_fleet);
  EXPECT_THAT(refusal({"a:b", "-c", file}), HasSubstr("m.json: schedule: 'poll': scope: fleet needs the store"));
  EXPECT_EQ(refusal({"a:b", "-c", file, "--fleet", "redis://h", "--fleet-name", "shop"}), "(accepted)");
}

TEST(ScheduleConfig, StandsInAFileOnly) {
  EXPECT_THAT(refusal({"a:b", "--schedule", "[]"}), HasSubstr("unknown flag '--schedule'"));
  EXPECT_EQ(refusal({"a:b"}, with({{"MOULT_SCHEDULE", "[]"}})),
            "MOULT_SCHEDULE: a schedule is not read from the environment");
}

TEST(ScheduleConfig, IsPrintedAsItStandsInTheFile) {
  const Scratch scratch;
  const std::string file = scratch.file("m.json", poll);
  EXPECT_THAT(request({"a:b", "-c", file, "--print-config"}).printed,
              HasSubstr(R"("schedule": [{"every":"5m","name":"poll","path":"/poll"}])"));
}
}  // namespace
}  // namespace moult
