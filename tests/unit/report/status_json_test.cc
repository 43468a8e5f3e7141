#include "master/report/status_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "master/report/instance_state.h"
namespace moult {
namespace {
using nlohmann::json;
using namespace std::chrono_literals;

SupervisorDescription serving_pool() {
  SupervisorDescription d{Mode::serve, 2, Generation{3}, Generation{3}, 40, {}, ""};
  WorkerDescription one{};
  one.id = WorkerId{9};
  one.slot = 0;
  one.pid = 71;
  one.state = WorkerState::serving;
  one.generation = Generation{3};
  one.in_state = 1500ms;
  one.uptime = 1500ms;
  one.requests = 12;
  one.in_flight = 1;
  WorkerDescription two{};
  two.id = WorkerId{10};
  two.slot = 1;
  two.state = WorkerState::booting;
  two.generation = Generation{3};
  two.status = "importing";
  d.workers = {one, two};
  return d;
}
const StatusFacts facts{"0.1.0", "shop", "uvicorn 0.17.6", 7, 2100ms, 0, 0};

TEST(StatusJson, HasTheKeysThatOthersDependOn) {
  const json status = json::parse(status_json({serving_pool(), facts}));
  EXPECT_EQ(status.at("version"), "0.1.0");
  EXPECT_EQ(status.at("name"), "shop");
  EXPECT_EQ(status.at("pid"), 7);
  EXPECT_EQ(status.at("generation"), 3);
  EXPECT_EQ(status.at("state"), "serving");
  EXPECT_EQ(status.at("uptime_seconds"), 2.1);
  EXPECT_EQ(status.at("wanted"), 2);
  EXPECT_EQ(status.at("boot_error"), nullptr);
  const json& worker = status.at("workers").at(0);
  EXPECT_EQ(worker.at("slot"), 0);
  EXPECT_EQ(worker.at("pid"), 71);
  EXPECT_EQ(worker.at("state"), "serving");
  EXPECT_EQ(worker.at("generation"), 3);
  EXPECT_EQ(worker.at("uptime_seconds"), 1.5);
  EXPECT_EQ(worker.at("requests"), 12);
  EXPECT_EQ(worker.at("in_flight"), 1);
}

TEST(StatusJson, SaysNullWhereThereIsNothingYet) {
  const json worker = json::parse(status_json({serving_pool(), facts})).at("workers").at(1);
  EXPECT_EQ(worker.at("pid"), nullptr);
  EXPECT_EQ(worker.at("uptime_seconds"), nullptr);
  EXPECT_EQ(worker.at("status"), "importing");
}

TEST(StatusJson, ListsTheSlotsThatWaitBesideTheWorkers) {
  SupervisorDescription d = serving_pool();
  EXPECT_EQ(json::parse(status_json({d, facts})).at("waiting_slots"), json::array());
  d.waiting_slots = {{2, 3, 4250ms}, {5, 0, std::nullopt}};
  const json status = json::parse(status_json({d, facts}));
  EXPECT_EQ(status.at("waiting_slots"), json::parse(R"([{"slot":2,"failed_boots":3,"retry_seconds":4.25},
    {"slot":5,"failed_boots":0,"retry_seconds":null}])"));
  EXPECT_EQ(status.at("workers").size(), 2u);
}

TEST(StatusJson, LeavesOutWhatThisInstanceDoesNotHave) {
  const json status = json::parse(status_json({serving_pool(), facts}));
  for (const char* key : {"gate", "parking", "linger", "idle", "schedule"}) EXPECT_FALSE(status.contains(key)) << key;
}

TEST(StatusJson, CountsConnectionsBetweenTwoWorkers) {
  const ParkingDescription parking{.held = 7,
                                   .callers = 2,
                                   .offered = 1,
                                   .most = 4096,
                                   .counts = {.parked = 90,
                                              .accepted = 6,
                                              .declined = 3,
                                              .given = 60,
                                              .closed_by_client = 9,
                                              .timed_out = 8,
                                              .closed_at_stop = 5,
                                              .refused = 1},
                                   .ignored_requests = 11};
  const json told =
      json::parse(status_json({.pool = serving_pool(), .facts = facts, .parking = parking})).at("parking");
  EXPECT_EQ(told, json({{"held", 7},
                        {"callers", 2},
                        {"offered", 1},
                        {"most", 4096},
                        {"parked", 90},
                        {"handed_over", 60},
                        {"declined", 3},
                        {"closed_by_client", 9},
                        {"timed_out", 8},
                        {"closed_at_stop", 5},
                        {"refused", 1},
                        {"accepted", 6},
                        {"ignored_requests", 11}}));
}

TEST(StatusJson, CountsWhatIsOnItsWay) {
  const DeliveryDescription delivery{
      .patience = std::chrono::minutes(5),
      .watched = 3,
      .stalled = 2,
      .fail_closed = 1,
      .closing = 4,
      .declined = 5,
      .counts = {.begun = 20, .delivered = 10, .reset = 4, .aborted = 2, .fail_closed = 1, .undelivered = 0}};
  const json told =
      json::parse(status_json({.pool = serving_pool(), .facts = facts, .delivery = delivery})).at("linger");
  EXPECT_EQ(told,
            json({{"watched", 3},
                  {"fail_closed", 1},
                  {"stalled", 2},
                  {"closing", 4},
                  {"timeout_seconds", 300.0},
                  {"begun", 20},
                  {"outcomes", {{"delivered", 10}, {"reset", 4}, {"aborted", 2}, {"fail_closed", 1}, {"unwatched", 0}}},
                  {"declined", 5},
                  {"trouble", nullptr}}));
}

TEST(StatusJson, SaysWhenTheLastTroubleWas) {
  SupervisorDescription d = serving_pool();
  for (const char* key : {"boot_error_at", "boot_error_age_seconds"})
    EXPECT_EQ(json::parse(status_json({d, facts})).at(key), nullptr) << key;
  d.boot_error = "exited with status 1";
  d.boot_error_at = WallTime{1'767'323'045s};
  d.boot_error_age = 125'500ms;
  const json status = json::parse(status_json({d, facts}));
  EXPECT_EQ(status.at("boot_error_at"), "2026-01-02T03:04:05.000Z");
  EXPECT_EQ(status.at("boot_error_age_seconds"), 125.5);
}

TEST(StatusJson, IsOneLineWhateverTheCauseHolds) {
  SupervisorDescription d = serving_pool();
  d.boot_error = "Traceback\n\xff";
  const std::string text = status_json({d, facts});
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(json::parse(text).at("boot_error"), "Traceback\n\xef\xbf\xbd");
}

TEST(StatusJson, SaysWhetherTheAppSleepsAndWhatKeepsItAwake) {
  using namespace std::chrono_literals;
  const auto idle_of = [](const IdleDescription& idle) {
    return json::parse(status_json({.pool = serving_pool(), .facts = facts, .idle = idle})).at("idle");
  };
  IdleDescription idle{.since = 1500ms, .blocked_by = BlockedBy::upgraded, .woken_by = Waker::caller, .awake = 2s};
  EXPECT_EQ(idle_of(idle), json::parse(R"({"state":"active","since_seconds":1.5,"blocked_by":"upgraded",
    "woken_by":"caller","warm":null,"warm_for_seconds":null,"refuses_for_seconds":null,"no_sleep_for_seconds":null,
    "failure":null,"awake_seconds":2.0})"));
  idle = {.state = IdleState::asleep, .warm = true, .warm_for = 4h, .refuses_for = 2s, .failure = "no such app"};
  EXPECT_EQ(idle_of(idle), json::parse(R"({"state":"asleep","since_seconds":0.0,"blocked_by":null,
    "woken_by":null,"warm":true,"warm_for_seconds":14400.0,"refuses_for_seconds":2.0,"no_sleep_for_seconds":null,
    "failure":"no such app","awake_seconds":0.0})"));
}

TEST(InstanceState, IsWakingUntilTheFirstWorkerServes) {
  SupervisorDescription d = serving_pool();
  const IdleDescription idle{.state = IdleState::waking};
  for (WorkerDescription& each : d.workers) each.state = WorkerState::booting;
  EXPECT_EQ(name(instance_state(d, &idle)), "waking");
  d.workers[0].state = WorkerState::serving;
  EXPECT_NE(instance_state(d, &idle), InstanceState::waking);
}

TEST(InstanceState, IsBootingUntilSomethingHasServed) {
  SupervisorDescription d = serving_pool();
  d.proven = {};
  EXPECT_EQ(instance_state(d), InstanceState::booting);
}

TEST(InstanceState, IsReloadingWhileACandidateIsOnTrial) {
  SupervisorDescription d = serving_pool();
  d.candidate = Generation{4};
  EXPECT_EQ(instance_state(d), InstanceState::reloading);
}

TEST(InstanceState, IsReloadingWhileNewCodeLoads) {
  SupervisorDescription d = serving_pool();
  d.loads = true;
  EXPECT_EQ(instance_state(d), InstanceState::reloading);
}

TEST(InstanceState, IsReloadingWhileOldWorkersServe) {
  SupervisorDescription d = serving_pool();
  d.proven = d.candidate = Generation{4};
  EXPECT_EQ(instance_state(d), InstanceState::reloading);
  d.workers[0].state = WorkerState::retiring;
  EXPECT_EQ(instance_state(d), InstanceState::serving);
}

TEST(InstanceState, IsStoppingFromTheFirstMomentOfAStop) {
  SupervisorDescription d = serving_pool();
  for (const Mode mode : {Mode::delay, Mode::draining, Mode::last, Mode::quick, Mode::finished}) {
    d.mode = mode;
    EXPECT_EQ(instance_state(d), InstanceState::stopping);
  }
  d.mode = Mode::sleep;
  EXPECT_EQ(name(instance_state(d)), "asleep");
}
}  // namespace
}  // namespace moult
