// Each threshold, from both sides.
#include "tests/unit/doctor/diagnosis.h"
namespace moult {
namespace {
constexpr std::uint64_t MB = 1'000'000;

Level runway(const Lines& lines) { return check_runway(history_of(lines)).level; }
Level cooldown(const Lines& lines) { return check_cooldown(history_of(lines)).level; }
Level rate(const Lines& lines) { return check_rate(history_of(lines)).level; }
Level escalations(const Lines& lines) { return check_escalations(history_of(lines)).level; }

// 40 % of 300 MB are asked for: 120 MB.
Json young(const Json& changes = Json::object()) {
  Json all = {{"limit_bytes", 400 * MB}, {"requests", 399}, {"lifetime_seconds", 3599}};
  all.update(changes);
  return all;
}

TEST(Runway, IsNamedFromTenLivesOn) {
  EXPECT_EQ(runway(recycles(9, young())), Level::too_few);
  EXPECT_EQ(runway(recycles(10, young())), Level::finding);
}

TEST(Runway, IsNoFaultWhereATenthServesAsManyAsTheAlarmAsksFor) {
  EXPECT_EQ(runway(recycles(20, young({{"requests", 400}}))), Level::fine);
}

TEST(Runway, IsNoFaultWhereATenthLivesForAnHour) {
  EXPECT_EQ(runway(recycles(20, young({{"lifetime_seconds", 3600}}))), Level::fine);
}

TEST(Runway, OneShortLifeOfTenCountsAndOneOfElevenDoesNot) {
  Lines lines = recycles(9);
  lines.push_back(recycle(0, young()));
  EXPECT_EQ(runway(lines), Level::finding);
  lines.push_back(recycle());
  EXPECT_EQ(runway(lines), Level::fine);
}

TEST(Runway, ShortLivesWithEnoughOfItAreNotedAndNotNamed) {
  EXPECT_EQ(runway(recycles(20, young({{"limit_bytes", 419 * MB}}))), Level::note);  // 1 MB is weighing
  EXPECT_EQ(runway(recycles(20, young({{"limit_bytes", 419 * MB - 1}}))), Level::finding);
}

TEST(Runway, OfASmallWorkerFiftyMegabytesAreAskedFor) {
  EXPECT_EQ(runway(recycles(20, young({{"boot_rss_bytes", 50 * MB}, {"limit_bytes", 98 * MB}}))), Level::finding);
  EXPECT_EQ(runway(recycles(20, young({{"boot_rss_bytes", 50 * MB}, {"limit_bytes", 99 * MB}}))), Level::note);
}

Json held(const Json& changes = Json::object()) {
  Json all = {{"rss_bytes", 650 * MB},
              {"gap_seconds", 121},
              {"over_hard_seconds", 10},
              {"holds", {{{"reason", "cooldown"}, {"seconds", 10}}}}};
  all.update(changes);
  return all;
}

TEST(Cooldown, ThatHeldOneForTenSecondsOverItsHardLimitIsNamed) {
  EXPECT_EQ(cooldown({recycle(0, held())}), Level::finding);
}

TEST(Cooldown, IsNotNamedForLess) {
  EXPECT_NE(cooldown({recycle(0, held({{"over_hard_seconds", 9.9}}))}), Level::finding);
  EXPECT_NE(cooldown({recycle(0, held({{"holds", {{{"reason", "cooldown"}, {"seconds", 9.9}}}}}))}), Level::finding);
  EXPECT_NE(cooldown({recycle(0, held({{"rss_bytes", 650 * MB - 1}}))}), Level::finding);
}

TEST(Cooldown, IsNotNamedWhereItWasShort) {  // moult's own: held for long by the routine one, then let go at once
  EXPECT_NE(cooldown({recycle(0, held({{"cooldown_seconds", 9.9}, {"urgency", "hard_limit"}}))}), Level::finding);
  EXPECT_EQ(cooldown({recycle(0, held({{"cooldown_seconds", 10}, {"urgency", "hard_limit"}}))}), Level::finding);
}

TEST(Cooldown, IsNotNamedWhereSomethingElseHeldIt) {
  EXPECT_NE(cooldown({recycle(0, held({{"holds", {{{"reason", "busy"}, {"seconds", 60}}}}}))}), Level::finding);
}

TEST(Cooldown, IsNamedOnlyForThoseThatWentRightBehindIt) {
  const auto with_gap = [](double gap) {
    return Lines{recycle(0, {{"gap_seconds", 120}}), recycle(9, held({{"gap_seconds", gap}}))};
  };
  EXPECT_EQ(cooldown(with_gap(164.9)), Level::finding);
  EXPECT_NE(cooldown(with_gap(165)), Level::finding);
}

// `behind` right behind the cooldown, some MB above the 500 of ten that had longer gaps; of one it is not said what
// held it.
Lines weights(unsigned behind, std::uint64_t megabytes_above, const Json& of_one = Json::object()) {
  Lines lines = recycles(10, {{"rss_bytes", 500 * MB}});
  for (unsigned i = 0; i < behind; ++i)
    lines.push_back(recycle(i, {{"gap_seconds", 120 + i}, {"rss_bytes", (500 + megabytes_above) * MB}}));
  lines.back().update(of_one);
  return lines;
}

TEST(Cooldown, WeightsStandOutByMoreThanTheSpreadOfLimits) {
  EXPECT_EQ(cooldown(weights(5, 26)), Level::note);  // 5 % of 500 MB are 25
  EXPECT_EQ(cooldown(weights(5, 25)), Level::fine);
}

TEST(Cooldown, WeightsOfFewerThanFiveSayNothing) { EXPECT_EQ(cooldown(weights(4, 26)), Level::too_few); }

TEST(Cooldown, IsNamedByWeightsWhereTheLineDoesNotSayWhatHeldIt) {
  const Json unsaid = {{"rss_bytes", 700 * MB}, {"holds", nullptr}, {"over_hard_seconds", nullptr}};
  EXPECT_EQ(cooldown(weights(5, 26, unsaid)), Level::finding);
  EXPECT_NE(cooldown(weights(5, 25, unsaid)), Level::finding);
}

// Slots 0 and 1: two workers. The bucket may give two at once; two more an hour are once a fleet and hour.
Lines busy(unsigned count, unsigned seconds_apart, const Json& changes = Json::object()) {
  Lines lines = recycles(count, changes, seconds_apart);
  lines.back()["slot"] = 1;
  return lines;
}

TEST(Rate, IsNamedBeyondTwoFleetsAnHour) {
  EXPECT_EQ(rate(busy(5, 240)), Level::finding);  // (5 - 2) in half an hour of two workers: 3 an hour each
  EXPECT_EQ(rate(busy(4, 240)), Level::fine);     // 2 each
}

TEST(Rate, CountsAHalfHour) {
  EXPECT_EQ(rate(busy(5, 450)), Level::finding);
  EXPECT_EQ(rate(busy(5, 451)), Level::fine);
}

TEST(Rate, IsNoFaultWhereTheCooldownPermitsNoMore) {
  EXPECT_EQ(rate(busy(9, 200, {{"cooldown_seconds", 900}})), Level::fine);  // 4 an hour: 2 each
  EXPECT_EQ(rate(busy(9, 200, {{"cooldown_seconds", 899}})), Level::finding);
}

TEST(Rate, OfUrgentOnesIsMeant) {
  EXPECT_NE(rate(busy(20, 60, {{"urgency", "hard_limit"}, {"reason", "hard_limit"}})), Level::finding);
}

Json by_pressure(double gap) {
  return {{"reason", "pressure"}, {"urgency", "pressure"}, {"cooldown_seconds", 1}, {"gap_seconds", gap}};
}

TEST(Escalations, AreNamedFromThreeOn) {
  EXPECT_EQ(escalations(recycles(2, by_pressure(500))), Level::too_few);
  EXPECT_EQ(escalations(recycles(3, by_pressure(500))), Level::finding);
}

TEST(Escalations, OneThatCameSoonerThanARoutineOneMightExercisesIt) {
  Lines lines = recycles(3, by_pressure(500));
  lines.push_back(recycle(0, by_pressure(120)));
  EXPECT_EQ(escalations(lines), Level::finding);
  lines.push_back(recycle(0, by_pressure(119.9)));
  EXPECT_EQ(escalations(lines), Level::fine);
}

TEST(Escalations, OfTheHardLimitAreNamedLikewise) {
  EXPECT_EQ(escalations(recycles(3, {{"urgency", "hard_limit"}, {"gap_seconds", 500}})), Level::finding);
}

TEST(Escalations, TheFirstRecycleOfAnInstanceHasNoGapAndDoesNotCount) {
  Lines lines = recycles(2, by_pressure(500));
  lines.push_back(recycle(0, {{"urgency", "pressure"}, {"gap_seconds", nullptr}}));
  EXPECT_EQ(escalations(lines), Level::too_few);
}

TEST(Margins, UnderTwentyFiveMegabytesAreCounted) {
  const auto within = [](std::uint64_t margin) {
    return check_margins(history_of(Lines{recycle(0, {{"rss_bytes", 500 * MB + margin}})})).figures["within_25_mb"];
  };
  EXPECT_EQ(within(25 * MB - 1), 1);
  EXPECT_EQ(within(25 * MB), 0);
}

TEST(Pressure, EventsAreCountedAlsoThoseThatCouldNotHelp) {
  Lines lines = recycles(2, by_pressure(500));
  lines.push_back({{"event", "pressure_futile"}, {"at", at_second(1)}, {"for_seconds", 600}});
  lines.push_back({{"event", "hold_started"}, {"at", at_second(2)}, {"reason", "nothing_to_free"}});
  const Check check = check_pressure(history_of(lines));
  EXPECT_EQ(check.level, Level::note);
  EXPECT_EQ(check.figures, (nlohmann::ordered_json{{"recycles", 2}, {"futile", 1}, {"nothing_to_free", 1}}));
}
}  // namespace
}  // namespace moult
