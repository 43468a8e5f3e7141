#include "master/report/fleet_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
namespace moult {
namespace {
using namespace std::chrono_literals;
using nlohmann::json;

const StoreTime now{std::chrono::hours(1000)};

FleetView two_instances() {
  FleetPolicy ruling;
  FleetView view{now, {ruling, "a", now - 1h}, 1.5, 6, {6, 4}, {}, {}};
  view.members = {{"a", 3, 3, now - 1s, ruling}, {"b", 3, 3, now - 1min, ruling}};
  return view;
}
json document(const FleetView& view) { return json::parse(fleet_json(view, {"web", "redis://store:6379"})); }

TEST(FleetJson, SaysWhatTheFleetMaySpendAndWhoseSettingsRule) {
  const json fleet = document(two_instances());
  EXPECT_EQ(fleet["fleet"], "web");
  EXPECT_EQ(fleet["tokens"], 1.5);
  EXPECT_EQ(fleet["wanted"], 6);
  EXPECT_EQ(fleet["healthy"], 4);
  EXPECT_EQ(fleet["settings"]["recycle_rate"], "1/h/worker");
  EXPECT_EQ(fleet["settings"]["of"], "a");
}

TEST(FleetJson, AnInstanceThatIsNotHeardHasVanishedAndServesWithNobody) {
  const json fleet = document(two_instances());
  EXPECT_EQ(fleet["instances"][0]["state"], "awake");
  EXPECT_EQ(fleet["instances"][1]["state"], "vanished");
  EXPECT_EQ(fleet["instances"][1]["healthy"], 0);
}

TEST(FleetJson, OneThatWantsNobodyIsIdle) {
  FleetView view = two_instances();
  view.members[0].wanted = view.members[0].healthy = 0;
  EXPECT_EQ(document(view)["instances"][0]["state"], "idle");
}

TEST(FleetJson, NamesEachSettingThatIsNotTheRulingOne) {
  FleetView view = two_instances();
  view.members[1].policy.burst = 5;
  view.members[1].policy.rate_per = RatePer::unlimited;
  EXPECT_EQ(document(view)["instances"][1]["settings_differ"],
            "--recycle-rate off (the fleet: 1/h/worker), --recycle-burst 5 (the fleet: 2)");
  EXPECT_EQ(document(view)["instances"][0]["settings_differ"], nullptr);
}

TEST(FleetJson, ShowsWhoHasALeaseAndForHowLong) {
  FleetView view = two_instances();
  view.permits = {{"a#1", {1}, 77, "a", 1, now - 3s, now + 117s}};
  const json lease = document(view)["leases"][0];
  EXPECT_EQ(lease["instance"], "a");
  EXPECT_EQ(lease["fencing_token"], 77);
  EXPECT_EQ(lease["held_seconds"], 3);
  EXPECT_EQ(lease["ends_in_seconds"], 117);
}

TEST(FleetJson, ShowsTheLastRefusalOfEach) {
  FleetView view = two_instances();
  view.members[0].last_refusal = {Refusal::no_tokens, now - 40s};
  EXPECT_EQ(document(view)["instances"][0]["last_refusal"], json({{"reason", "no_tokens"}, {"ago_seconds", 40}}));
  EXPECT_EQ(document(view)["instances"][1]["last_refusal"], nullptr);
}
}  // namespace
}  // namespace moult
