// Days of virtual time through both cores, and what holds_awake says of the same schedules.
#include "master/sleep/holds_awake.h"

#include "master/sleep/time_zone.h"
#include "tests/unit/sleep/sleep_world.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
using Entries = std::vector<ScheduledCall>;

IdlePolicy idle_for(Duration idle) { return {.idle = idle, .wake_timeout = 30s, .stop_timeout = 6min, .warm_for = 4h}; }

ScheduledCall every(Duration period, const std::string& name = "a") { return {name, Every{period}}; }
ScheduledCall cron(const std::string& line, const std::string& name = "a") {
  return {name, CronTimes{*parse_cron(line), *find_time_zone("Europe/Berlin")}};
}

double in_hours(Duration time) { return std::chrono::duration<double, std::ratio<3600>>(time).count(); }

// How long an app that nobody visits sleeps in the second of two days, with real boots, drains and calls.
Duration sleeps_a_day(const Entries& entries, Duration idle) {
  SleepWorld world({entries}, idle_for(idle));
  world.boot_takes = 300ms;
  world.drain_takes = 100ms;
  world.call_takes = 200ms;
  world.run_for(24h);
  world.asleep = world.awake = 0s;
  world.run_for(24h);
  EXPECT_EQ(world.asleep + world.awake, 24h);
  return world.asleep;
}

struct Said {
  std::vector<HoldsAwake> all;
  explicit Said(const Entries& entries, Duration idle)
      : all(holds_awake({entries}, idle_for(idle), {MonotonicTime(1000h), WallTime(24h * 20000 + 7min)})) {}
};

void expect_asleep(Duration period, Duration idle, Duration of_each, Duration tolerance) {
  const Duration slept = sleeps_a_day({every(period)}, idle);
  const auto cycles = 24h / period;
  EXPECT_NEAR(std::chrono::duration<double>(slept / cycles).count(), std::chrono::duration<double>(of_each).count(),
              std::chrono::duration<double>(tolerance).count());
  const Said said({every(period)}, idle);
  EXPECT_EQ(said.all[0].always, slept == 0s);
  const auto awake_share = [](Duration awake, Duration of) {
    return static_cast<double>(awake.count()) / static_cast<double>(of.count());
  };
  EXPECT_NEAR(awake_share(said.all[0].alone.awake, said.all[0].alone.of), awake_share(24h - slept, 24h), 0.02);
}

TEST(ADay, OfFifteenMinutesIdleAndACallEveryFiveIsWithoutSleep) { expect_asleep(5min, 15min, 0s, 0s); }
TEST(ADay, OfNinetySecondsIdleAndACallEveryFiveMinutesIsMostlySleep) { expect_asleep(5min, 90s, 210s, 3s); }
TEST(ADay, OfNinetySecondsIdleAndACallEachMinuteIsWithoutSleep) { expect_asleep(60s, 90s, 0s, 0s); }
TEST(ADay, OfFifteenMinutesIdleAndACallEachHourHasThreeQuartersOfSleep) { expect_asleep(1h, 15min, 45min, 3s); }
TEST(ADay, OfTheSameIdleAndPeriodIsWithoutSleep) { expect_asleep(15min, 15min, 0s, 0s); }
TEST(ADay, OfFifteenMinutesIdleAndACallEveryTwentyHasSleepInEverySecondGap) {
  expect_asleep(20min, 15min, 10min, 3s);  // 20 of every 40 minutes
}

TEST(ADay, WithoutAScheduleIsAllSleep) {
  EXPECT_EQ(sleeps_a_day({}, 15min), 24h);
  EXPECT_TRUE(Said({}, 15min).all.empty());
}

TEST(ADay, WithIdleOffIsWithoutSleepAndNoEntryIsToBlame) {
  EXPECT_EQ(sleeps_a_day({every(1h)}, 0s), 0s);
  const Said said({every(1h)}, 0s);
  EXPECT_FALSE(said.all[0].always);
  EXPECT_EQ(said.all[0].words, "no: the app never sleeps, because --idle is 0");
}

TEST(ADay, OfTwoSchedulesThatOnlyTogetherLeaveNoGapIsWithoutSleep) {
  const Entries half_past{cron("0 * * * *", "hourly"), cron("30 * * * *", "half past")};
  EXPECT_GT(sleeps_a_day({half_past[0]}, 40min), 0s);
  EXPECT_GT(sleeps_a_day({half_past[1]}, 40min), 0s);
  EXPECT_EQ(sleeps_a_day(half_past, 40min), 0s);
  const Said said(half_past, 40min);
  EXPECT_TRUE(said.all[0].always);
  EXPECT_TRUE(said.all[1].always);
  EXPECT_EQ(
      said.all[0].words,
      "yes: together with other entries it is always due within --idle 40 min, so the app does not sleep all day; "
      "without it, it would be awake for 12 h of 24 h");
}

TEST(ADay, OfTwoSchedulesTheOneThatNeverLeavesAGapIsToBlame) {
  const Entries entries{every(5min, "often"), every(6h, "seldom")};
  EXPECT_EQ(sleeps_a_day(entries, 15min), 0s);
  const Said said(entries, 15min);
  EXPECT_TRUE(said.all[0].always);
  EXPECT_FALSE(said.all[1].always);
  EXPECT_EQ(said.all[0].words,
            "yes: it is always due within --idle 15 min, so the app does not sleep all day; without it, it would be "
            "awake for 1 h of 24 h");
  EXPECT_EQ(said.all[1].words, "no: alone it keeps the app awake for 1 h of 24 h");
}

TEST(ADay, OfTwoSchedulesThatLeaveGapsSleepsInThem) {
  const Entries entries{every(1h, "a"), every(6h, "b")};
  EXPECT_NEAR(in_hours(sleeps_a_day(entries, 15min)), 18, 0.1);
  for (const HoldsAwake& each : Said(entries, 15min).all) EXPECT_FALSE(each.always);
}

TEST(ADay, OfThreeOfWhichAnyTwoAreEnoughBlamesThemAllButNotOneThatIsNotDue) {
  const Entries entries{cron("0 * * * *", "a"), cron("20 * * * *", "b"), cron("40 * * * *", "c"),
                        cron("0 0 1 1 *", "yearly")};
  EXPECT_EQ(sleeps_a_day(entries, 45min), 0s);
  const Said said(entries, 45min);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(said.all[static_cast<std::size_t>(i)].always);
  EXPECT_FALSE(said.all[3].always);
}

TEST(ADay, OfSeveralThatAreEnoughAloneBlamesEachOfThemAndNoOther) {
  const Entries entries{every(5min, "a"), every(10min, "b"), every(6h, "seldom")};
  const Said said(entries, 15min);
  EXPECT_TRUE(said.all[0].always);
  EXPECT_TRUE(said.all[1].always);
  EXPECT_FALSE(said.all[2].always);
}

TEST(ADay, OfTwoThatAreEnoughTogetherBlamesBothAndNoOther) {
  const Entries entries{cron("0 * * * *", "a"), cron("30 * * * *", "b"), every(6h, "seldom")};
  const Said said(entries, 40min);
  EXPECT_TRUE(said.all[0].always);
  EXPECT_TRUE(said.all[1].always);
  EXPECT_FALSE(said.all[2].always);
}

TEST(ADay, OfACronLineInOfficeHoursSleepsAtNight) {
  const Entries entries{cron("*/10 8-17 * * *")};
  EXPECT_NEAR(in_hours(sleeps_a_day(entries, 15min)), 24 - 9 - 50.0 / 60, 0.01);  // from 8:00 to 17:50
  const Said said(entries, 15min);
  EXPECT_FALSE(said.all[0].always);
  EXPECT_EQ(said.all[0].words, "no: alone it keeps the app awake for 9 h 50 min of 24 h");
}

TEST(HoldsAwake, AnEntryThatIsNotDueWithinADayHoldsNothing) {
  const Said said({cron("0 0 1 1 *")}, 15min);
  EXPECT_FALSE(said.all[0].always);
  EXPECT_EQ(said.all[0].words, "no: it is not due within 24 h");
}

TEST(HoldsAwake, SaysItsCostInWords) {
  EXPECT_EQ(Said({every(1h)}, 15min).all[0].words, "no: alone it keeps the app awake for 6 h of 24 h");
  EXPECT_EQ(Said({every(5min)}, 90s).all[0].words, "no: alone it keeps the app awake for 7 h 12 min of 24 h");
  EXPECT_EQ(Said({every(5min)}, 15min).all[0].words,
            "yes: it is always due within --idle 15 min, so the app does not sleep all day; without it, it would be "
            "awake for 0 s of 24 h");
}

TEST(HoldsAwake, ACallEachSecondIsJudgedByLessThanADay) {
  const Said said({every(1s)}, 90s);
  EXPECT_TRUE(said.all[0].always);
  EXPECT_LT(said.all[0].alone.of, 1h);
}
}  // namespace
}  // namespace moult
