#include "master/report/metrics.h"

#include <gmock/gmock.h>

#include <chrono>
namespace moult {
namespace {
using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
constexpr std::uint64_t MB = megabyte;

// One moment of an instance whose parts a test describes.
struct Moment {
  SupervisorDescription pool{Mode::serve, 2, Generation{1}, Generation{1}, 40, {}, ""};
  RecyclingDescription recycling{{}, 0, no_limit, 0, std::nullopt, {}, false, {}, 0};
  GateDescription gate{.kind = "local"};
  ParkingDescription parking;
  DeliveryDescription delivery;
  ScheduleDescription schedule;
  IdleDescription idle;
  LostLines lost{0, 0};
  Metrics metrics{"0.1.0"};

  void add(WorkerId id, std::optional<unsigned> slot, WorkerState state, const WorkerMemoryDescription& memory) {
    WorkerDescription worker{};
    worker.id = id;
    worker.slot = slot;
    worker.state = state;
    pool.workers.push_back(worker);
    recycling.workers[id] = memory;
  }
  std::string text() {
    return metrics_text(metrics.collect({pool, recycling, gate, parking, delivery, schedule, idle, lost, 3}));
  }
};

TEST(Metrics, ShowOfEachSlotWhatItsServingWorkerWeighsAndItsLimits) {
  Moment now;
  now.add({1}, 0, WorkerState::retiring, {150 * MB, 41 * MB, 90 * MB, 120 * MB, {}});
  now.add({2}, 0, WorkerState::serving, {50 * MB, 40 * MB, 100 * MB, 130 * MB, {}});
  now.add({3}, std::nullopt, WorkerState::spare, {42 * MB, 42 * MB, 100 * MB, 130 * MB, {}});
  now.add({4}, 1, WorkerState::serving, {60 * MB, 44 * MB, no_limit, no_limit, {}});
  const std::string text = now.text();
  EXPECT_THAT(text, HasSubstr("\nmoult_worker_rss_bytes{slot=\"0\"} 50000000\n"
                              "moult_worker_rss_bytes{slot=\"1\"} 60000000\n#"));
  EXPECT_THAT(text, HasSubstr("\nmoult_worker_boot_rss_bytes{slot=\"0\"} 40000000\n"
                              "moult_worker_boot_rss_bytes{slot=\"1\"} 44000000\n#"));
  EXPECT_THAT(text, HasSubstr("\nmoult_worker_limit_bytes{slot=\"0\"} 100000000\n#"));
  EXPECT_THAT(text, HasSubstr("\nmoult_worker_hard_limit_bytes{slot=\"0\"} 130000000\n#"));
}

TEST(Metrics, CountRecyclesByReasonAndUrgency) {
  Moment now;
  EXPECT_THAT(now.text(), HasSubstr("moult_recycles_total{reason=\"pressure\",urgency=\"pressure\"} 0"));
  RecycleRecord record;
  record.why = {Cause::hard_limit, Urgency::hard_limit, {}};
  now.metrics.recycled(record);
  record.why = {Cause::limit, Urgency::routine, {}};
  for (int i = 0; i < 2; ++i) now.metrics.recycled(record);
  const std::string text = now.text();
  EXPECT_THAT(text, HasSubstr("moult_recycles_total{reason=\"hard_limit\",urgency=\"hard_limit\"} 1"));
  EXPECT_THAT(text, HasSubstr("moult_recycles_total{reason=\"limit\",urgency=\"routine\"} 2"));
}

TEST(Metrics, SayWhatMemoryCosts) {
  Moment now;
  now.recycling.over_hard = 90'500ms;
  now.recycling.times_short = 4;
  now.recycling.headroom_bytes = 500 * MB;
  now.recycling.min_headroom_bytes = 100 * MB;
  now.metrics.pressure_futile(10min);
  const std::string text = now.text();
  EXPECT_THAT(text, HasSubstr("\nmoult_worker_over_hard_limit_seconds_total 90.5\n"));
  EXPECT_THAT(text, HasSubstr("\nmoult_memory_shortages_total 4\n"));
  EXPECT_THAT(text, HasSubstr("\nmoult_pressure_futile_total 1\n"));
  EXPECT_THAT(text, HasSubstr("\nmoult_headroom_bytes 500000000\n"));
  EXPECT_THAT(text, HasSubstr("\nmoult_min_headroom_bytes 100000000\n"));
  EXPECT_THAT(text, HasSubstr("\nmoult_worker_oom_kills_total 3\n"));
}

TEST(Metrics, LeaveOutWhatIsNotKnown) {
  const std::string text = Moment{}.text();
  EXPECT_THAT(text, Not(HasSubstr("headroom_bytes ")));
  EXPECT_THAT(text, Not(HasSubstr("requests_p10 ")));
}

TEST(Metrics, ShowTheBudgetsAnswersAndHowLongTheyTook) {
  Moment now;
  now.gate.granted = 5;
  now.gate.refusals[static_cast<std::size_t>(Refusal::no_tokens)] = 2;
  for (const Duration took : {Duration(1ms), Duration(5ms), Duration(60ms), Duration(11s)})
    now.gate.answer_times.add(took);
  const std::string text = now.text();
  EXPECT_THAT(text, HasSubstr("\nmoult_gate_grants_total 5\n"));
  EXPECT_THAT(text, HasSubstr("moult_gate_refusals_total{reason=\"no_tokens\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("moult_gate_answer_seconds_bucket{le=\"0.005\"} 2\n"
                              "moult_gate_answer_seconds_bucket{le=\"0.025\"} 2\n"
                              "moult_gate_answer_seconds_bucket{le=\"0.1\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("moult_gate_answer_seconds_bucket{le=\"10\"} 3\n"
                              "moult_gate_answer_seconds_bucket{le=\"+Inf\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("moult_gate_answer_seconds_count 4\nmoult_gate_answer_seconds_sum 11.066\n"));
}

TEST(Metrics, CountSleepsAndWakesByOutcomeAndMeasureWakes) {
  Moment now;
  now.metrics.slept({SleepReason::idle, 1s, 1min});
  now.metrics.stop_failed({SleepReason::idle, 1s, 30s, "no"});
  now.metrics.woke({Waker::caller, 20ms, 1min});
  now.metrics.wake_failed({Waker::caller, 1s, 1s, "no"});
  now.idle = {.state = IdleState::waking, .awake = 90s};
  const std::string text = now.text();
  for (const char* line : {"moult_sleeps_total{outcome=\"asleep\"} 1\n", "moult_sleeps_total{outcome=\"failed\"} 1\n",
                           "moult_wakes_total{outcome=\"awake\"} 1\n", "moult_wakes_total{outcome=\"failed\"} 1\n",
                           "moult_wake_seconds_bucket{le=\"0.01\"} 0\n", "moult_wake_seconds_bucket{le=\"0.025\"} 1\n",
                           "moult_idle_state{state=\"waking\"} 1\n", "moult_idle_state{state=\"asleep\"} 0\n",
                           "moult_awake_seconds_total 90\n"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(Metrics, SayWhatKeepsAnAppAwakeWhileItIs) {
  Moment now;
  now.idle = {.state = IdleState::active, .blocked_by = BlockedBy::upgraded};
  EXPECT_THAT(now.text(), HasSubstr("moult_idle_blocked{reason=\"upgraded\"} 1\n"
                                    "moult_idle_blocked{reason=\"request\"} 0\n"));
  EXPECT_THAT(now.text(), HasSubstr("moult_idle_blocked{reason=\"failed_stop\"} 0\n"));
  now.idle.state = IdleState::asleep;
  EXPECT_THAT(now.text(), HasSubstr("moult_idle_blocked{reason=\"upgraded\"} 0\n"));
}

TEST(Metrics, ShowScheduledCallsOnlyWhereSomethingIsScheduled) {
  Moment now;
  EXPECT_THAT(now.text(), Not(HasSubstr("moult_scheduled")));
  now.schedule.calls.push_back({"poll", "every 5m", "POST", "/poll", Scope::instance, 60s, CallState::waiting});
  now.schedule.calls[0].last =
      EndedCall{.name = "poll", .outcome = CallOutcome::answered, .status = 200, .took = 310ms, .late = 4s};
  now.schedule.errors = 2;
  now.schedule.outcomes[static_cast<std::size_t>(CallOutcome::lost)] = 3;
  const std::string text = now.text();
  for (std::size_t i = 0; i < call_outcomes; ++i)  // each is there from the start
    EXPECT_THAT(text,
                HasSubstr("moult_scheduled_calls_total{outcome=\"" + std::string(name(static_cast<CallOutcome>(i)))));
  EXPECT_THAT(text, HasSubstr("moult_scheduled_calls_total{outcome=\"lost\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("moult_scheduled_call_last_duration_seconds{name=\"poll\"} 0.31\n"));
  EXPECT_THAT(text, HasSubstr("moult_scheduled_call_last_delay_seconds{name=\"poll\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("\nmoult_scheduled_call_errors_total 2\n"));
  now.schedule.calls[0].last->outcome = CallOutcome::claimed_elsewhere;
  EXPECT_THAT(now.text(), Not(HasSubstr("{name=\"poll\"}")));
}

TEST(Metrics, ShowWhatIsOnItsWayOnlyWhereItIsWatched) {
  Moment now;
  EXPECT_THAT(now.text(), Not(HasSubstr("moult_linger")));
  now.delivery.patience = 5min;
  now.delivery.watched = 3;
  now.delivery.fail_closed = 1;
  now.delivery.counts.delivered = 10;
  const std::string text = now.text();
  EXPECT_THAT(text, HasSubstr("\nmoult_lingers_watched 3\n"));
  EXPECT_THAT(text, HasSubstr("\nmoult_lingers_fail_closed 1\n"));
  EXPECT_THAT(text, HasSubstr("\nmoult_lingers_total{outcome=\"delivered\"} 10\n"));
  EXPECT_THAT(text, HasSubstr("\nmoult_lingers_total{outcome=\"unwatched\"} 0\n"));
}

TEST(Metrics, CountTheLinesThatWereLost) {
  Moment now;
  now.lost = {7, 9};
  EXPECT_THAT(now.text(), HasSubstr("\nmoult_log_lines_dropped_total 7\n"));
  EXPECT_THAT(now.text(), HasSubstr("\nmoult_events_dropped_total 9\n"));
}
}  // namespace
}  // namespace moult
