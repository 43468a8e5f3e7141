#include "master/sleep/cron.h"

#include <gtest/gtest.h>

#include "master/sleep/time_zone.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

std::string error_of(std::string_view text) {
  const auto cron = parse_cron(text);
  return cron ? "" : cron.error().message;
}

// Moments are written with their offset: "2026-03-29 03:00 +0200".
constexpr auto format = "%Y-%m-%d %H:%M %z";
WallTime moment(const std::string& text) {
  absl::Time at;
  std::string error;
  EXPECT_TRUE(absl::ParseTime(format, text, &at, &error)) << error;
  return absl::ToChronoTime(at);
}

std::string shown(WallTime at, const absl::TimeZone& zone) {
  return absl::FormatTime(format, absl::FromChrono(at), zone);
}
absl::CivilDay day_of(WallTime at, const absl::TimeZone& zone) { return absl::ToCivilDay(absl::FromChrono(at), zone); }

// The first `count` times after `from`.
std::vector<std::string> times(std::string_view line, const std::string& zone_name, const std::string& from,
                               unsigned count) {
  const auto cron = parse_cron(line);
  const auto zone = find_time_zone(zone_name);
  std::vector<std::string> all;
  if (!cron || !zone) {
    ADD_FAILURE() << (cron ? zone.error().message : cron.error().message);
    return all;
  }
  WallTime at = moment(from);
  while (all.size() < count) {
    const auto next = next_cron_time(*cron, *zone, at);
    if (!next) break;
    at = *next;
    all.push_back(shown(at, *zone));
  }
  return all;
}
using Times = std::vector<std::string>;

TEST(Cron, ReadsValuesListsRangesStepsAndNames) {
  const auto cron = parse_cron("0,30 8-10 1-9/4 jan,MAR-apr 5-7");
  ASSERT_TRUE(cron) << cron.error().message;
  Cron right;
  for (const auto minute : {0, 30}) right.minutes.set(static_cast<std::size_t>(minute));
  for (const auto hour : {8, 9, 10}) right.hours.set(static_cast<std::size_t>(hour));
  for (const auto day : {1, 5, 9}) right.days.set(static_cast<std::size_t>(day));
  for (const auto month : {1, 3, 4}) right.months.set(static_cast<std::size_t>(month));
  for (const auto weekday : {0, 5, 6}) right.weekdays.set(static_cast<std::size_t>(weekday));
  right.either_day = true;
  EXPECT_EQ(*cron, right);
}

TEST(Cron, SundayIsZeroAndSevenAndSun) {
  for (const auto* line : {"0 0 * * 0", "0 0 * * 7", "0 0 * * sun", "0 0 * * SUN", "\t0  0 * * 7-7 "})
    EXPECT_EQ(*parse_cron(line), *parse_cron("0 0 * * 0")) << line;
  EXPECT_EQ(parse_cron("0 0 * * 0-7")->weekdays, parse_cron("0 0 * * *")->weekdays);
}

TEST(Cron, AStarWithAStepBeginsAtTheLowest) {
  EXPECT_EQ(parse_cron("*/20 * * * *")->minutes, parse_cron("0,20,40 * * * *")->minutes);
  EXPECT_EQ(parse_cron("* * */10 * *")->days, parse_cron("* * 1,11,21,31 * *")->days);
  EXPECT_EQ(parse_cron("*/60 * * * *")->minutes, parse_cron("0 * * * *")->minutes);
}

TEST(Cron, ErrorsNameTheFieldAndWhatIsRight) {
  EXPECT_EQ(error_of("60 * * * *"), "the minute 60 is out of range: 0 to 59");
  EXPECT_EQ(error_of("* 24 * * *"), "the hour 24 is out of range: 0 to 23");
  EXPECT_EQ(error_of("* * 0 * *"), "the day of the month 0 is out of range: 1 to 31");
  EXPECT_EQ(error_of("* * 32 * *"), "the day of the month 32 is out of range: 1 to 31");
  EXPECT_EQ(error_of("* * * 13 *"), "the month 13 is out of range: 1 to 12, or jan to dec");
  EXPECT_EQ(error_of("* * * * 8"), "the day of the week 8 is out of range: 0 to 7, or sun to sat");
  EXPECT_EQ(error_of("* * * * monday"),
            "the day of the week is not a value, list, range or step: 0 to 7, or sun to sat");
  EXPECT_EQ(error_of("jan * * * *"), "the minute is not a value, list, range or step: 0 to 59");
  EXPECT_EQ(error_of("* * * * fri-mon"), "a range of the day of the week goes backwards: write it as two");
  EXPECT_EQ(error_of("*/0 * * * *"), "a step of the minute is not a number from 1 to 60");
  EXPECT_EQ(error_of("*/61 * * * *"), "a step of the minute is not a number from 1 to 60");
  EXPECT_EQ(error_of("5/15 * * * *"), "a step of the minute does not follow * or a range");
  EXPECT_EQ(error_of("* * * *"), "has 4 fields, not five: minute, hour, day of the month, month, day of the week");
  EXPECT_EQ(error_of("@daily"), "has 1 field, not five: minute, hour, day of the month, month, day of the week");
  EXPECT_EQ(error_of("0 0 0 0 0 0"), "has 6 fields, not five: minute, hour, day of the month, month, day of the week");
  EXPECT_EQ(error_of("0 0 30 2 *"), "is never due: no such month has such a day");
  EXPECT_EQ(error_of("0 0 31 4,6,9,11 *"), "is never due: no such month has such a day");
}

TEST(Cron, RefusesEveryKindOfRubbish) {
  for (const auto* text : {"", "     ", ", * * * *", "1, * * * *", "1-- * * * *", "-1 * * * *", "1- * * * *",
                           "*/ * * * *", "** * * * *", "*-5 * * * *", "1-2-3 * * * *", "+1 * * * *", "1.5 * * * *",
                           "99999999999999999999 * * * *", "*/2/2 * * * *", "? * * * *", "0 0 L * *", "0 0 * * 5#3"})
    EXPECT_NE(error_of(text), "") << text;
  EXPECT_EQ(error_of("0 0 30 2 mon"), "") << "one of the two days is enough";
}

TEST(Cron, IsDueInEachMinuteThatItNamesAndStrictlyAfter) {
  EXPECT_EQ(times("*/20 8 * * *", "UTC", "2026-01-10 08:20 +0000", 3),
            (Times{"2026-01-10 08:40 +0000", "2026-01-11 08:00 +0000", "2026-01-11 08:20 +0000"}));
  const auto zone = *find_time_zone("UTC");
  const Cron each_minute = *parse_cron("* * * * *");
  const WallTime at = moment("2026-01-10 08:20 +0000");
  EXPECT_EQ(next_cron_time(each_minute, zone, at - 1ns), at);
  EXPECT_EQ(next_cron_time(each_minute, zone, at), at + 1min);
  EXPECT_EQ(next_cron_time(each_minute, zone, at + 1min - 1ns), at + 1min);
}

TEST(Cron, GoesOverTheEndsOfMonthsAndYears) {
  EXPECT_EQ(times("59 23 31 * *", "UTC", "2026-01-31 23:59 +0000", 3),
            (Times{"2026-03-31 23:59 +0000", "2026-05-31 23:59 +0000", "2026-07-31 23:59 +0000"}));
  EXPECT_EQ(times("0 0 1 1 *", "UTC", "2026-01-01 00:00 +0000", 2),
            (Times{"2027-01-01 00:00 +0000", "2028-01-01 00:00 +0000"}));
  EXPECT_EQ(times("0 0 29 2 *", "UTC", "2096-02-29 00:00 +0000", 1), (Times{"2104-02-29 00:00 +0000"}));
}

TEST(Cron, ADayOfTheMonthOrOfTheWeekIsEnoughIfBothAreRestricted) {
  EXPECT_EQ(times("0 0 13 * fri", "UTC", "2026-03-01 00:00 +0000", 3),
            (Times{"2026-03-06 00:00 +0000", "2026-03-13 00:00 +0000", "2026-03-20 00:00 +0000"}));
  EXPECT_EQ(times("0 0 * * fri", "UTC", "2026-03-01 00:00 +0000", 2),
            (Times{"2026-03-06 00:00 +0000", "2026-03-13 00:00 +0000"}));
  EXPECT_EQ(times("0 0 */2 * fri", "UTC", "2026-03-01 00:00 +0000", 2),
            (Times{"2026-03-13 00:00 +0000", "2026-03-27 00:00 +0000"}))
      << "a star with a step is no restriction: both must hold";
}

TEST(Cron, GoesByTheClocksOfItsTimeZone) {
  EXPECT_EQ(times("0 9 * * mon-fri", "America/New_York", "2026-01-09 20:00 +0000", 1),
            (Times{"2026-01-12 09:00 -0500"}));
  EXPECT_EQ(times("0 9 * * *", "Asia/Kolkata", "2026-01-09 00:00 +0000", 1), (Times{"2026-01-09 09:00 +0530"}));
}

// Berlin, 29 March 2026: after 01:59 +0100 comes 03:00 +0200.
TEST(Cron, ATimeThatClocksJumpOverIsDueInTheMomentOfTheJump) {
  EXPECT_EQ(times("30 2 * * *", "Europe/Berlin", "2026-03-28 12:00 +0100", 2),
            (Times{"2026-03-29 03:00 +0200", "2026-03-30 02:30 +0200"}));
  EXPECT_EQ(times("*/10 2 * * *", "Europe/Berlin", "2026-03-28 12:00 +0100", 2),
            (Times{"2026-03-29 03:00 +0200", "2026-03-30 02:00 +0200"}))
      << "all that were jumped over, once";
  EXPECT_EQ(times("0,30 2,3 * * *", "Europe/Berlin", "2026-03-28 12:00 +0100", 2),
            (Times{"2026-03-29 03:00 +0200", "2026-03-29 03:30 +0200"}))
      << "the moment of the jump is a time of its own as well: once";
  EXPECT_EQ(times("30 2 30 * *", "Europe/Berlin", "2026-03-28 12:00 +0100", 1), (Times{"2026-03-30 02:30 +0200"}))
      << "of another day";
}

// Berlin, 25 October 2026: after 02:59 +0200 comes 02:00 +0100.
TEST(Cron, ATimeThatComesTwiceIsDueTheFirstTime) {
  EXPECT_EQ(times("30 2 * * *", "Europe/Berlin", "2026-10-24 12:00 +0200", 2),
            (Times{"2026-10-25 02:30 +0200", "2026-10-26 02:30 +0100"}));
  EXPECT_EQ(times("0 2,3 * * *", "Europe/Berlin", "2026-10-24 12:00 +0200", 3),
            (Times{"2026-10-25 02:00 +0200", "2026-10-25 03:00 +0100", "2026-10-26 02:00 +0100"}));
  EXPECT_EQ(times("30 2 * * *", "Europe/Berlin", "2026-10-25 02:10 +0100", 1), (Times{"2026-10-26 02:30 +0100"}))
      << "also when asked in the second hour";
}

TEST(Cron, ALineOfEveryHourGoesByRealTime) {
  EXPECT_EQ(times("30 * * * *", "Europe/Berlin", "2026-03-29 01:00 +0100", 3),
            (Times{"2026-03-29 01:30 +0100", "2026-03-29 03:30 +0200", "2026-03-29 04:30 +0200"}));
  EXPECT_EQ(times("30 * * * *", "Europe/Berlin", "2026-10-25 02:00 +0200", 3),
            (Times{"2026-10-25 02:30 +0200", "2026-10-25 02:30 +0100", "2026-10-25 03:30 +0100"}));
}

TEST(Cron, EveryTenMinutesIsEveryTenMinutesThroughAWholeYearOfAnyZone) {
  for (const auto* name :
       {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Kathmandu"}) {
    const auto zone = *find_time_zone(name);
    const Cron cron = *parse_cron("*/10 * * * *");
    WallTime at = moment("2026-01-01 00:00 +0000");
    // Kathmandu is 5:45 ahead.
    at = *next_cron_time(cron, zone, at);
    for (int i = 0; i < 365 * 24 * 6; ++i) {
      const auto next = next_cron_time(cron, zone, at);
      ASSERT_EQ(next, at + 10min) << name << ", " << shown(at, zone);
      at = *next;
    }
  }
}

TEST(Cron, ATimeOfEachDayIsDueOnceOnEachDayOfAnyZone) {
  for (const auto* name : {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Beirut",
                           "America/Havana", "America/Santiago", "Pacific/Auckland", "America/St_Johns"}) {
    const auto zone = *find_time_zone(name);
    for (const auto* line : {"0 0 * * *", "15 0 * * *", "15 1 * * *", "0 2 * * *", "15 2 * * *", "45 23 * * *"}) {
      const Cron cron = *parse_cron(line);
      WallTime at = moment("2026-01-01 00:00 +0000");
      at = *next_cron_time(cron, zone, at);
      for (int i = 0; i < 3 * 365; ++i) {
        const auto next = next_cron_time(cron, zone, at);
        ASSERT_TRUE(next);
        const auto days = day_of(*next, zone) - day_of(at, zone);
        ASSERT_EQ(days, 1) << name << ", " << line << ": " << shown(*next, zone);
        at = *next;
      }
    }
  }
}

TEST(Cron, LordHowesHalfHourIsJumpedOverAndRepeatedTheSameWay) {
  // 5 April 2026: after 01:59 +1100 comes 01:30 +1030. 4 October 2026: after 01:59 +1030 comes 02:30 +1100.
  EXPECT_EQ(times("45 1 * * *", "Australia/Lord_Howe", "2026-04-04 12:00 +1100", 2),
            (Times{"2026-04-05 01:45 +1100", "2026-04-06 01:45 +1030"}));
  EXPECT_EQ(times("15 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00 +1030", 2),
            (Times{"2026-10-04 02:30 +1100", "2026-10-05 02:15 +1100"}));
}

TEST(Cron, ChangesInTheMiddleOfAnHourAreTakenTheSameWay) {
  // St. John's, 13 March 2011: after 00:00 -0330 comes 01:01 -0230. 7 November 2010: after 00:00 -0230 came 23:01 -0330
  // of the day before.
  EXPECT_EQ(times("0 1 * * *", "America/St_Johns", "2011-03-12 12:00 -0330", 2),
            (Times{"2011-03-13 01:01 -0230", "2011-03-14 01:00 -0230"}));
  EXPECT_EQ(times("1 0 * * *", "America/St_Johns", "2010-11-06 12:00 -0230", 2),
            (Times{"2010-11-07 00:01 -0330", "2010-11-08 00:01 -0330"}));
  EXPECT_EQ(times("0 0 * * *", "America/St_Johns", "2010-11-06 12:00 -0230", 2),
            (Times{"2010-11-07 00:00 -0230", "2010-11-08 00:00 -0330"}));
  EXPECT_EQ(times("30 23 * * *", "America/St_Johns", "2010-11-06 12:00 -0230", 2),
            (Times{"2010-11-06 23:30 -0230", "2010-11-07 23:30 -0330"}));
}

TEST(Cron, MidnightThatIsJumpedOverIsDueWhenTheDayBegins) {
  // Havana, 8 March 2026: after 23:59 -0500 comes 01:00 -0400.
  EXPECT_EQ(times("0 0 * * *", "America/Havana", "2026-03-07 12:00 -0500", 2),
            (Times{"2026-03-08 01:00 -0400", "2026-03-09 00:00 -0400"}));
  // Samoa left out 30 December 2011 as a whole.
  EXPECT_EQ(times("0 12 30 * *", "Pacific/Apia", "2011-12-29 18:00 -1000", 1), (Times{"2011-12-31 00:00 +1400"}));
}

TEST(Cron, AHundredThousandYearsAreNoReasonToCrash) {
  const auto zone = *find_time_zone("UTC");
  EXPECT_EQ(next_cron_time(*parse_cron("* * * * *"), zone, WallTime::max()), std::nullopt);
  EXPECT_EQ(next_cron_time(*parse_cron("0 0 1 1 *"), zone, WallTime::max() - 1min), std::nullopt);
  EXPECT_TRUE(next_cron_time(*parse_cron("* * * * *"), zone, WallTime::min() + 1h));
}

TEST(Cron, WhatIsNotDueInNineYearsIsNotLookedForFurther) {
  EXPECT_EQ(times("0 0 29 2 */7", "UTC", "2032-02-29 00:00 +0000", 1), Times{}) << "a Sunday: next in 2060";
}

TEST(TimeZone, UnknownOnesAndWhatIsNoNameAreRefused) {
  for (const auto* name : {"", "Europe/Berlim", "/etc/localtime", "localtime", "../zoneinfo/UTC", ":UTC", "utc",
                           "CET\n", "Europe/", "Europe/../UTC"}) {
    const auto zone = find_time_zone(name);
    ASSERT_FALSE(zone) << name;
    EXPECT_EQ(zone.error().message,
              "is not a time zone that this machine knows: Europe/Berlin, UTC (they come with the package tzdata)");
  }
  EXPECT_TRUE(find_time_zone("UTC"));
  EXPECT_TRUE(find_time_zone("America/Argentina/Buenos_Aires"));
}
}  // namespace
}  // namespace moult
