// What people read of answers that are on their way.
#include "master/report/delivery_reporter.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
namespace moult {
namespace {
using namespace std::chrono_literals;
using nlohmann::json;

TEST(DeliveryReporterWords, SayWhatWasDoneAndWhatCanBeDone) {
  EXPECT_EQ(in_words(LingersAborted{DeliveryWish::before_stop, 1, 5min}),
            "1 client took nothing of the answer for 300 s (--linger-timeout) and was cut off, before the stop");
  EXPECT_EQ(in_words(LingersAborted{DeliveryWish::before_sleep, 2, 1500ms}),
            "2 clients took nothing of the answer for 1.5 s (--linger-timeout) and were cut off, before the sleep");
  EXPECT_EQ(
      in_words(FailedClosed{DeliveryWish::before_sleep, 2, "not_permitted", ""}),
      "the app stays awake, for 2 clients that did not receive all of the answer: they take nothing, and moult may "
      "not cut them off: it needs CAP_NET_ADMIN for that");
  EXPECT_EQ(in_words(FailedClosed{DeliveryWish::before_stop, 0, "look_failed", "cannot look: no"}),
            "moult leaves and does not know whether all answers have arrived: cannot look: no");
  EXPECT_EQ(in_words(StopWaits{1, 10min}),
            "1 client has not received all of the answer yet: waiting, at most 600 s (twice --linger-timeout). Whoever "
            "takes nothing for half of that is cut off. To leave without it, stop once more");
}

TEST(DeliveryEvents, HaveTheFieldsOfTheirPage) {
  const json aborted = json::parse(event_line(LingersAborted{DeliveryWish::before_sleep, 2, 1500ms}, "shop", {}));
  EXPECT_EQ(aborted.at("event"), "linger_aborted");
  EXPECT_EQ(aborted.at("during"), "sleep");
  EXPECT_EQ(aborted.at("connections"), 2);
  EXPECT_EQ(aborted.at("stalled_seconds"), 1.5);
  const json failed = json::parse(event_line(FailedClosed{DeliveryWish::before_stop, 3, "maximum", ""}, "shop", {}));
  EXPECT_EQ(failed.at("event"), "fail_closed");
  EXPECT_EQ(failed.at("connections"), 3);
  EXPECT_EQ(failed.at("cause"), "maximum");
  EXPECT_TRUE(failed.at("error").is_null());
}
}  // namespace
}  // namespace moult
