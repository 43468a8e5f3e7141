#include "master/config/schedule_entries.h"

#include <gtest/gtest.h>
namespace moult {
namespace {
using namespace std::chrono_literals;

std::string error_of(std::string_view text) {
  const auto calls = parse_schedule(text);
  return calls ? "" : calls.error().message;
}
// What is wrong with an entry of that name, path and period, and more.
std::string error_with(const std::string& more) {
  return error_of(R"([{"name": "poll", "path": "/p", "every": 60, )" + more + "}]");
}
std::string error_without(const std::string& key) {
  std::string text = "[{";
  for (const auto* each : {R"("name": "poll")", R"("path": "/p")", R"("every": 60)"})
    if (std::string(each).find(key) == std::string::npos) text += (text.size() > 2 ? ", " : "") + std::string(each);
  return error_of(text + "}]");
}

TEST(ScheduleEntries, AnEntryIsReadWithItsDefaults) {
  const auto calls = parse_schedule(R"([{"name": "poll", "every": "5m", "path": "/jobs/poll"}])");
  ASSERT_TRUE(calls) << calls.error().message;
  ASSERT_EQ(calls->size(), 1u);
  const ScheduledCall& call = calls->front();
  EXPECT_EQ(call.name, "poll");
  EXPECT_EQ(call.when, When{Every{5min}});
  EXPECT_EQ(call.path, "/jobs/poll");
  EXPECT_EQ(call.method, "POST");
  EXPECT_EQ(call.timeout, 60s);
  EXPECT_EQ(call.scope, Scope::instance);
}

TEST(ScheduleEntries, AnEntryIsReadWithAllItsKeys) {
  const auto calls = parse_schedule(R"([{"name": "night-1_a.b", "cron": "30 3 * * sun", "time-zone": "Europe/Berlin",
      "path": "/jobs?kind=night", "method": "DELETE", "timeout": 90.5, "scope": "fleet"},
     {"name": "utc", "cron": "0 0 * * *", "path": "/"}])");
  ASSERT_TRUE(calls) << calls.error().message;
  const ScheduledCall& call = calls->front();
  EXPECT_EQ(call.name, "night-1_a.b");
  EXPECT_EQ(std::get<CronTimes>(call.when).cron, *parse_cron("30 3 * * sun"));
  EXPECT_EQ(std::get<CronTimes>(call.when).zone.name(), "Europe/Berlin");
  EXPECT_EQ(call.path, "/jobs?kind=night");
  EXPECT_EQ(call.method, "DELETE");
  EXPECT_EQ(call.timeout, 90500ms);
  EXPECT_EQ(call.scope, Scope::fleet);
  EXPECT_EQ(std::get<CronTimes>(calls->at(1).when).zone, absl::UTCTimeZone());
}

TEST(ScheduleEntries, NoEntriesAreNoSchedule) { EXPECT_TRUE(parse_schedule("[]")->empty()); }

TEST(ScheduleEntries, WhatIsMissingIsNamed) {
  EXPECT_EQ(error_without("name"), "entry 1: name is missing");
  EXPECT_EQ(error_without("path"), "'poll': path is missing");
  EXPECT_EQ(error_without("every"), "'poll': says not when: give every or cron");
}

TEST(ScheduleEntries, EachEntryIsEitherEveryOrCron) {
  EXPECT_EQ(error_with(R"("cron": "* * * * *")"), "'poll': every and cron are both given: leave one out");
  EXPECT_EQ(error_with(R"("time-zone": "UTC")"), "'poll': time-zone: goes with cron: leave it out");
}

TEST(ScheduleEntries, WrongValuesAreNamedWithEntryAndKey) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"("method": "get")", "'poll': method: 'get' is unknown: did you mean GET?"},
      {R"("method": "BREW")", "'poll': method: 'BREW' is unknown: use GET, HEAD, POST, PUT, PATCH or DELETE"},
      {R"("method": 1)", "'poll': method: must be a string"},
      {R"("scope": "host")", "'poll': scope: 'host' is unknown: use instance or fleet"},
      {R"("timeout": "0s")", "'poll': timeout: '0s' is out of range: 1s to 24h"},
      {R"("timeout": "25h")", "'poll': timeout: '25h' is out of range: 1s to 24h"},
      {R"("timeout": true)", "'poll': timeout: must be a number of seconds, or a string like \"5m\""},
      {R"("timeout": null)", "'poll': timeout: is null: leave the key out"},
      {R"("time_out": 1)", "'poll': 'time_out': no such key: did you mean timeout?"},
      {R"("url": "/")", "'poll': 'url': no such key: name, every or cron, time-zone, path, method, timeout, scope"}};
  for (const auto& [more, what] : wrong) EXPECT_EQ(error_with(more), what);
}

TEST(ScheduleEntries, WrongTimesAreNamedWithEntryAndKey) {
  const auto error_when = [](const std::string& when) {
    return error_of(R"([{"name": "poll", "path": "/p", )" + when + "}]");
  };
  EXPECT_EQ(error_when(R"("every": "5x")"),
            "'poll': every: '5x' has the unknown unit 'x': times are seconds, or ms, s, m, h");
  EXPECT_EQ(error_when(R"("every": "999ms")"), "'poll': every: '999ms' is out of range: 1s to 8784h");
  EXPECT_EQ(error_when(R"("every": 1)"), "");
  EXPECT_EQ(error_when(R"("every": "8784h")"), "");
  EXPECT_EQ(error_when(R"("every": "8785h")"), "'poll': every: '8785h' is out of range: 1s to 8784h");
  EXPECT_EQ(error_when(R"("every": -5)"), "'poll': every: '-5' is out of range: 1s to 8784h");
  EXPECT_EQ(error_when(R"("every": [5])"), "'poll': every: must be a number of seconds, or a string like \"5m\"");
  EXPECT_EQ(error_when(R"("cron": "0 24 * * *")"), "'poll': cron: '0 24 * * *': the hour 24 is out of range: 0 to 23");
  EXPECT_EQ(error_when(R"("cron": 5)"), "'poll': cron: must be a string");
  EXPECT_EQ(error_when(R"("cron": "0 0 * * *", "time-zone": "Europe/Berlim")"),
            "'poll': time-zone: 'Europe/Berlim' is not a time zone that this machine knows: Europe/Berlin, UTC (they "
            "come with the package tzdata)");
  EXPECT_EQ(error_when(R"("cron": "0 0 * * *", "timezone": "UTC")"),
            "'poll': 'timezone': no such key: did you mean time-zone?");
}

TEST(ScheduleEntries, WrongNamesAndPathsAreNamed) {
  const auto error_named = [](const std::string& name) {
    return error_of(R"([{"every": 60, "path": "/p", "name": )" + name + "}]");
  };
  EXPECT_EQ(error_named("7"), "entry 1: name: must be a string");
  EXPECT_EQ(error_named(R"("")"),
            "entry 1: name: '' is not a name: 1 to 64 letters, digits, dots, dashes and underscores");
  EXPECT_EQ(error_named(R"("a\nb")"),
            "'a?b': name: 'a?b' is not a name: 1 to 64 letters, digits, dots, dashes and underscores");
  EXPECT_EQ(error_named('"' + std::string(64, 'n') + '"'), "");
  EXPECT_NE(error_named('"' + std::string(65, 'n') + '"'), "");
  const auto error_path = [](const std::string& path) {
    return error_of(R"([{"name": "poll", "every": 60, "path": ")" + path + R"("}])");
  };
  EXPECT_EQ(error_path("jobs"), "'poll': path: 'jobs' does not begin with /: only the app itself is called");
  EXPECT_EQ(error_path("http://elsewhere/"),
            "'poll': path: 'http://elsewhere/' does not begin with /: only the app itself is called");
  for (const auto* bad : {"/a b", "/a#b", "/\\u00e4", "/a\\r\\nHost: x", "/a\\u0000"})
    EXPECT_NE(error_path(bad).find("has a blank, a # or a letter that is not ASCII"), std::string::npos) << bad;
  EXPECT_EQ(error_path("/" + std::string(2047, 'p')), "");
  EXPECT_EQ(error_path("/" + std::string(2048, 'p')), "'poll': path: is longer than 2048 letters");
}

TEST(ScheduleEntries, TwoOfOneNameAreRefused) {
  EXPECT_EQ(error_of(R"([{"name": "a", "every": 60, "path": "/"}, {"name": "a", "every": 60, "path": "/"}])"),
            "'a': name: another entry has it already");
}

TEST(ScheduleEntries, WhatIsNotAnArrayOfObjectsIsRefused) {
  for (const auto* text : {"{}", "5", "\"\"", "null", "[", "", "[{]"})
    EXPECT_EQ(error_of(text),
              "must be an array of objects: [{\"name\": \"poll\", \"every\": \"5m\", \"path\": \"/poll\"}]");
  EXPECT_EQ(error_of(R"([{"name": "a", "every": 60, "path": "/"}, 5])"),
            "entry 2: must be an object: {\"name\": \"poll\", \"every\": \"5m\", \"path\": \"/poll\"}");
}

TEST(ScheduleEntries, ThereIsABound) {
  const auto of = [](std::size_t entries) {
    std::string text = "[";
    for (std::size_t i = 0; i < entries; ++i)
      text += (i > 0 ? "," : "") + std::string(R"({"every": 60, "path": "/", "name": ")") + std::to_string(i) + "\"}";
    return text + "]";
  };
  EXPECT_EQ(parse_schedule(of(64))->size(), 64u);
  EXPECT_EQ(error_of(of(65)), "has 65 entries: at most 64");
}
}  // namespace
}  // namespace moult
