#include "master/control/schedule_table.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
namespace moult {
namespace {
using nlohmann::json;
using testing::HasSubstr;

const json nightly{{"name", "nightly"},
                   {"when", "cron 30 3 * * * Europe/Berlin"},
                   {"state", "waiting"},
                   {"next_at", "2026-01-02T02:30:00.000Z"},
                   {"last_status", 200},
                   {"last_outcome", "answered"},
                   {"last_duration_seconds", 0.31}};

TEST(ScheduleTable, ShowsWhatComesNextAndHowItWentLast) {
  const std::string table = schedule_table({{"schedule", {nightly}}}, 0);
  EXPECT_EQ(table,
            "NAME     NEXT                      LAST STATUS  WHEN                            TOOK\n"
            "nightly  2026-01-02T02:30:00.000Z  200          cron 30 3 * * * Europe/Berlin  0.31s\n");
}

TEST(ScheduleTable, SaysWhyACallHasNoStatusAndThatOneIsInHand) {
  json call = nightly;
  call["last_status"] = nullptr;
  call["last_outcome"] = "not_served";
  call["state"] = "running";
  const std::string table = schedule_table({{"schedule", {call}}}, 0);
  EXPECT_THAT(table, HasSubstr("nightly  now   not made: nobody served"));
}

TEST(ScheduleTable, SaysInWordsWhatHoldsTheAppAwake) {
  json call = nightly;
  call["holds_awake_words"] = "no: alone it keeps the app awake for 15 min of 24 h";
  EXPECT_THAT(schedule_table({{"schedule", {call}}}, 0),
              HasSubstr("holds the app awake?\n  nightly: no: alone it keeps the app awake for 15 min of 24 h\n"));
}

TEST(ScheduleTable, SaysThatThereIsNothing) {
  EXPECT_THAT(schedule_table(json::object(), 80), HasSubstr("nothing is scheduled"));
}

TEST(ScheduleTable, WhatOthersWroteDoesNotSteerTheTerminal) {
  json call = nightly;
  call["name"] = "a\x1b[2J";
  EXPECT_EQ(schedule_table({{"schedule", {call}}}, 0).find('\x1b'), std::string::npos);
}

TEST(CallInWords, SaysHowARunEnded) {
  const json answered{{"outcome", "answered"}, {"status", 503}, {"duration_seconds", 1.25}, {"why", ""}};
  EXPECT_EQ(call_in_words(answered), "answered 503 after 1.2s");
  EXPECT_FALSE(went_well(answered));
  const json cut{{"outcome", "cut_off"}, {"status", nullptr}, {"duration_seconds", 61}, {"why", "Empty reply"}};
  EXPECT_EQ(call_in_words(cut), "cut off before it was answered (Empty reply) after 1m01s");
  EXPECT_FALSE(went_well(cut));
  EXPECT_TRUE(went_well({{"outcome", "answered"}, {"status", 302}}));
}
}  // namespace
}  // namespace moult
