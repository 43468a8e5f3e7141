// What is said of sleeps and wakes, and counted.
#include "master/report/sleep_reporter.h"

#include <gmock/gmock.h>
#include <prometheus/text_serializer.h>

#include "master/report/metrics.h"
#include "master/report/sleep_metrics.h"
namespace moult {
namespace {
using ::testing::HasSubstr;
using namespace std::chrono_literals;

TEST(SleepMetrics, CountsByOutcomeAndMeasuresWakes) {
  SleepMetrics metrics;
  metrics.slept({SleepReason::idle, 1s, 1min});
  metrics.stop_failed({SleepReason::idle, 1s, 30s, "no"});
  metrics.woke({Waker::caller, 20ms, 1min});
  metrics.wake_failed({Waker::caller, 1s, 1s, "no"});
  std::vector<prometheus::MetricFamily> all;
  metrics.collect_into(all, {.state = IdleState::waking, .awake = 90s});
  const std::string text = metrics_text(all);
  for (const char* line : {"moult_sleeps_total{outcome=\"asleep\"} 1\n", "moult_sleeps_total{outcome=\"failed\"} 1\n",
                           "moult_wakes_total{outcome=\"awake\"} 1\n", "moult_wakes_total{outcome=\"failed\"} 1\n",
                           "moult_wake_seconds_bucket{le=\"0.01\"} 0\n", "moult_wake_seconds_bucket{le=\"0.025\"} 1\n",
                           "moult_idle_state{state=\"waking\"} 1\n", "moult_idle_state{state=\"asleep\"} 0\n",
                           "moult_awake_seconds_total 90\n"})
    EXPECT_THAT(text, HasSubstr(line));
}
}  // namespace
}  // namespace moult
