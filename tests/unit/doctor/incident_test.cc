// The incident's log: its four faults are named, and each one's name goes with its cause alone.
#include "tests/unit/doctor/diagnosis.h"
#include "tools/doctor/report.h"
namespace moult {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
constexpr double MB = 1e6;

bool held_by_cooldown(const Json& line) { return !line["holds"].empty(); }
bool by_pressure(const Json& line) { return line["reason"] == "pressure"; }
double bytes(const Json& line, const char* key) { return line[key].get<double>(); }

TEST(Incident, TheFourFaultsAreNamed) {
  EXPECT_THAT(named(incident()), ElementsAre("runway", "cooldown", "rate", "escalations"));
}

TEST(Incident, WithHigherLimitsTheRunwayIsNamedNoMore) {
  const Lines higher = edited(incident(), [](Json& line) {
    for (const char* key : {"limit_bytes", "hard_limit_bytes", "rss_bytes"}) line[key] = bytes(line, key) + 45 * MB;
  });
  EXPECT_THAT(named(higher), ElementsAre("cooldown", "rate", "escalations"));
}

TEST(Incident, WithLongLivesTheRunwayIsNamedNoMore) {
  const Lines longer = edited(incident(), [](Json& line) { line["requests"] = 10 * line["requests"].get<int>(); });
  EXPECT_THAT(named(longer), ElementsAre("cooldown", "rate", "escalations"));
}

TEST(Incident, WithNobodyHeavyBehindTheCooldownItIsNamedNoMore) {
  const Lines lighter = edited(incident(), [](Json& line) {
    if (!held_by_cooldown(line)) return;
    line["rss_bytes"] = bytes(line, "limit_bytes") + 5 * MB;
    line["over_hard_seconds"] = 0;
  });
  EXPECT_THAT(named(lighter), ElementsAre("runway", "rate", "escalations"));
}

TEST(Incident, WithoutThoseWhomTheCooldownHeldItIsNamedNoMore) {
  EXPECT_THAT(named(without(incident(), held_by_cooldown)), ElementsAre("runway", "rate", "escalations"));
}

TEST(Incident, WithinTheHardLimitTheCooldownIsNotedButNotNamed) {
  const Lines within = edited(incident(), [](Json& line) {
    if (bytes(line, "rss_bytes") > 650 * MB) line["rss_bytes"] = 640 * MB;
  });
  EXPECT_THAT(named(within), ElementsAre("runway", "rate", "escalations"));
  EXPECT_EQ(check_cooldown(history_of(within)).level, Level::note);
}

TEST(Incident, WithTheBusyHalfHourSpreadOverTheDayTheRateIsNamedNoMore) {
  unsigned second = 0;
  const Lines spread = edited(incident(), [&](Json& line) { line["at"] = at_second(second += 900); });
  EXPECT_THAT(named(spread), ElementsAre("runway", "cooldown", "escalations"));
}

TEST(Incident, WithACooldownThatPermitsNoSuchRateItIsNamedNoMore) {
  const Lines slower = edited(incident(), [](Json& line) { line["cooldown_seconds"] = 600; });
  EXPECT_THAT(named(slower), ElementsAre("runway", "cooldown", "escalations"));
}

TEST(Incident, WithOnePressureRecycleWithinTheCooldownTheEscalationIsNamedNoMore) {
  bool done = false;
  const Lines sooner = edited(incident(), [&](Json& line) {
    if (by_pressure(line) && !std::exchange(done, true)) line["gap_seconds"] = 45;
  });
  EXPECT_THAT(named(sooner), ElementsAre("runway", "cooldown", "rate"));
}

TEST(Incident, WithoutPressureThereIsNoEscalationToName) {
  EXPECT_THAT(named(without(incident(), by_pressure)), ElementsAre("runway", "cooldown", "rate"));
}

TEST(Incident, SmallMarginsAreToldAndNoFault) {
  const Check margins = check_margins(history_of(incident()));
  EXPECT_EQ(margins.level, Level::fine);
  EXPECT_EQ(margins.figures["within_25_mb"], 47);
}

TEST(Incident, TheFiguresAreThoseOfItsReport) {
  const History history = history_of(incident());
  const auto runway = check_runway(history).figures;
  EXPECT_EQ(runway["requests_p50"], 817);
  EXPECT_EQ(runway["needed_runway_bytes"], 144 * MB);
  EXPECT_NEAR(runway["lowest_runway_bytes"].get<double>(), 100 * MB, MB);
  const auto cooldown = check_cooldown(history).figures;
  EXPECT_EQ(cooldown["peak_rss_bytes"], 710 * MB);
  EXPECT_EQ(cooldown["stands_out"], true);
  EXPECT_EQ(check_rate(history).figures["busiest_half_hour"], 13);
  EXPECT_EQ(check_pressure(history).figures["recycles"], 7);
}

TEST(Incident, ALowerMinimumOfHeadroomIsNoTrend) {
  unsigned pressures = 0;
  const Lines lower = edited(incident(), [&](Json& line) {
    if (by_pressure(line)) line["headroom_bytes"] = ++pressures <= 3 ? 213 * MB : 204 * MB;
  });
  const Lines steady = edited(lower, [](Json& line) {
    if (by_pressure(line)) line["headroom_bytes"] = 213 * MB;
  });
  const History before = history_of(steady), after = history_of(lower);
  EXPECT_EQ(doctor_json(before, all_checks(before)), doctor_json(after, all_checks(after)));
  EXPECT_THAT(doctor_text(after, all_checks(after)), Not(HasSubstr("204 MB")));
}

TEST(Incident, TenThousandMalformedLinesAreCountedAndChangeNothing) {
  std::vector<std::string> lines;
  for (const Json& line : incident()) {
    lines.push_back(line.dump());
    while (lines.size() % 112 != 0) lines.push_back(line.dump().substr(0, lines.size() % 112));
  }
  while (lines.size() < 10'090) lines.emplace_back("\x01\xff{]");
  const History history = history_of(lines);
  EXPECT_EQ(history.malformed.lines, 10'000u);
  EXPECT_EQ(history.recycles.size(), 90u);
  EXPECT_THAT(named(lines), ElementsAre("runway", "cooldown", "rate", "escalations"));
  EXPECT_THAT(doctor_text(history, all_checks(history)), HasSubstr("10000 lines are malformed"));
}
}  // namespace
}  // namespace moult
