#include "master/control/event_words.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/worker_limits.h"
#include "master/control/event_filter.h"
#include "recycler/reason.h"
namespace moult {
namespace {
using nlohmann::json;
using ::testing::HasSubstr;

const json recycled{
    {"event", "worker_recycled"},
    {"at", "2026-01-02T03:04:05.678Z"},
    {"slot", 2},
    {"pid", 812},
    {"reason", "limit"},
    {"rss_bytes", 512'000'000},
    {"limit_bytes", 500'000'000},
    {"requests", 4312},
    {"lifetime_seconds", 7500.4},
    {"gated", true},
    {"holds", {{{"reason", "cooldown"}, {"seconds", 41.2}}, {{"reason", "no_tokens"}, {"seconds", 0.01}}}},
    {"drain_outcome", "clean"},
    {"drain_seconds", 0.31},
    {"handed_over", 3}};

TEST(EventWords, ARecycleIsOneSentence) {
  EXPECT_EQ(
      event_sentence(recycled),
      "worker 2 (pid 812) was replaced: over its limit (512 MB of 500 MB) after 4312 requests in 2h05m; it waited "
      "41s for the cooldown after the last replacement; it finished in 0.3s, 3 idle connections live on");
}

TEST(EventWords, WhatAnAppSaysCannotSteerTheTerminal) {
  const json failed{{"event", "boot_failed"},
                    {"slot", 0},
                    {"pid", 7},
                    {"cause",
                     "one\x1b[2J two\xc2\x9b"
                     "2J caf\xc3\xa9"}};
  EXPECT_EQ(event_sentence(failed), "worker 0 (pid 7) did not get ready: one [2J two 2J caf\xc3\xa9");
}

TEST(EventWords, ARecycleThatWentWrongSaysHow) {
  json cut = recycled;
  cut["drain_outcome"] = "killed";
  cut["gated"] = false;
  cut["holds"] = json::array();
  EXPECT_THAT(event_sentence(cut), HasSubstr("in 2h05m, ahead of the budget; it had to be killed after 0.3s"));
}

TEST(EventWords, ForPeopleTheTimeComesFirst) {
  EXPECT_THAT(event_for_people(recycled), testing::StartsWith("2026-01-02T03:04:05.678Z  worker 2 (pid 812) was "));
}

TEST(EventWords, AScheduledCallSaysHowItEnded) {
  json call{{"event", "scheduled_call"},
            {"name", "poll"},
            {"outcome", "answered"},
            {"status", 200},
            {"duration_seconds", 0.31}};
  EXPECT_EQ(event_sentence(call), "the scheduled call 'poll' was answered 200 after 0.3s");
  call["outcome"] = "lost";
  call["holder"] = "host-b";
  EXPECT_EQ(event_sentence(call), "the scheduled call 'poll' is lost: its instance ended before it said more, host-b");
  call["outcome"] = "cut_off";
  call["cause"] = "Empty reply from server";
  EXPECT_EQ(event_sentence(call),
            "the scheduled call 'poll' was cut off before it was answered: Empty reply from server");
}

TEST(EventWords, AHoldSaysWhatForAndUntilWhen) {
  const json hold{{"event", "hold_started"}, {"slot", 0}, {"pid", 7}, {"reason", "no_tokens"}, {"until", "T1"}};
  EXPECT_EQ(event_sentence(hold), "worker 0 (pid 7) is to go and waits for the budget, until T1");
  json endless = hold;
  endless["until"] = nullptr;
  EXPECT_THAT(event_sentence(endless), HasSubstr("with no end known yet"));
}

TEST(EventWords, ACrashNamesItsSignalAndTheLastLineOfItsTraceback) {
  EXPECT_EQ(event_sentence({{"event", "worker_exited"},
                            {"slot", 1},
                            {"pid", 9},
                            {"state", "serving"},
                            {"signal", "SIGKILL"},
                            {"exit_status", nullptr},
                            {"oom_killed", true}}),
            "worker 1 (pid 9) crashed: killed by SIGKILL, out of memory");
  EXPECT_EQ(event_sentence({{"event", "boot_failed"},
                            {"slot", 1},
                            {"pid", nullptr},
                            {"exit_status", 3},
                            {"cause", "Traceback\n  File x\nValueError: no\n"}}),
            "worker 1 did not get ready: exit 3: ValueError: no");
}

TEST(EventWords, OfAnswersOnTheirWay) {
  EXPECT_EQ(
      event_sentence({{"event", "linger_aborted"}, {"during", "stop"}, {"connections", 2}, {"stalled_seconds", 300.0}}),
      "2 clients that took nothing of their answer for 5m00s were cut off, before the stop");
  EXPECT_EQ(event_sentence({{"event", "fail_closed"},
                            {"during", "stop"},
                            {"connections", 2},
                            {"cause", "not_permitted"},
                            {"error", nullptr}}),
            "moult leaves: of the answers to 2 clients it is not known that they have arrived (not_permitted)");
  EXPECT_THAT(event_sentence({{"event", "fail_closed"}, {"during", "sleep"}}), HasSubstr("the app stays awake"));
}

TEST(EventWords, ASleepAndAWakeSayWhyAndHowLongItTook) {
  EXPECT_EQ(event_sentence({{"event", "slept"}, {"reason", "idle"}, {"awake_seconds", 905}}),
            "the app sleeps: nobody called, after 15m05s awake");
  EXPECT_EQ(event_sentence({{"event", "woke"}, {"caller", "caller"}, {"latency_seconds", 0.012}}),
            "the app is awake for a visitor, after 12ms");
  EXPECT_EQ(event_sentence({{"event", "wake_failed"}, {"caller", "call"}, {"retry_in_seconds", 4}, {"cause", "a\nb"}}),
            "the app could not be woken for a scheduled call: callers get 503 for 4s: b");
  EXPECT_THAT(event_sentence({{"event", "wake_failed"}, {"caller", "call"}, {"retry_in_seconds", 0.04}}),
              HasSubstr("callers get 503 for 1s"));
  EXPECT_EQ(event_sentence({{"event", "stop_failed"}, {"retry_in_seconds", 30}, {"cause", "--on-sleep failed"}}),
            "the app was to sleep and stays awake: the next attempt is in 30s: --on-sleep failed");
}

TEST(EventWords, WhatOthersWroteDoesNotSteerTheTerminal) {
  const json nasty{{"event", "reload_finished"}, {"outcome", "rejected\x1b[2J"}, {"error", "a\x1b]0;b\a"}};
  for (const char c : event_sentence(nasty)) EXPECT_GE(c, ' ');
  for (const char c : event_sentence({{"event", "of tomorrow"}, {"said", "\x1b[2J"}})) EXPECT_GE(c, ' ');
}

TEST(EventWords, AnyEventHasWordsHoweverLittleIsInIt) {
  for (const auto name : event_names()) {
    EXPECT_FALSE(event_sentence({{"event", name}}).empty()) << name;
    EXPECT_FALSE(event_sentence({{"event", name}, {"slot", "x"}, {"holds", 7}, {"cause", {}}}).empty()) << name;
  }
  EXPECT_THAT(event_sentence({{"event", "of_tomorrow"}, {"slot", 1}}), HasSubstr("of_tomorrow"));
  EXPECT_FALSE(event_sentence(json::array()).empty());
}

TEST(EventFilter, LetsThroughWhatHasAllThatIsAskedFor) {
  EXPECT_TRUE(lets_through({}, recycled));
  EXPECT_TRUE(
      lets_through({.names = {"worker_ready", "worker_recycled"}, .slot = 2, .pid = 812, .reason = "limit"}, recycled));
  EXPECT_FALSE(lets_through({.names = {"worker_ready"}}, recycled));
  EXPECT_FALSE(lets_through({.slot = 1}, recycled));
  EXPECT_FALSE(lets_through({.pid = 1}, recycled));
  EXPECT_FALSE(lets_through({.reason = "pressure"}, recycled));
  EXPECT_FALSE(lets_through({.slot = 0}, json{{"event", "master_started"}}));
}

TEST(EventFilter, ANameThatNoEventHasIsRefused) {
  EXPECT_TRUE(check(EventFilter{.names = {"worker_recycled"}}));
  const auto checked = check(EventFilter{.names = {"worker_recycle"}});
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("no event is called 'worker_recycle'; there are master_started"));
}

TEST(EventFilter, AReasonThatNoEventHasIsRefused) {
  const auto checked = check(EventFilter{.reason = "bogus"});
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("no event has the reason 'bogus'; there are limit hard_limit"));
  const auto hint = check(EventFilter{.reason = std::string(1000, 'x')});
  EXPECT_LT(hint.error().message.size(), 400u);
}

TEST(EventFilter, EachReasonThatAnEventMayHaveIsTaken) {
  for (const Cause cause : {Cause::limit, Cause::hard_limit, Cause::pressure, Cause::max_requests, Cause::max_lifetime,
                            Cause::operator_request})
    EXPECT_TRUE(check(EventFilter{.reason = name(cause)})) << name(cause);
  for (int i = 0; i <= static_cast<int>(HoldReason::store_unreachable); ++i)
    EXPECT_TRUE(check(EventFilter{.reason = name(static_cast<HoldReason>(i))})) << i;
}

TEST(EventFilter, ASlotOrAProcessThatCannotBeIsRefused) {
  EXPECT_TRUE(check(EventFilter{.slot = most_workers - 1, .pid = 1}));
  EXPECT_EQ(check(EventFilter{.slot = most_workers}).error().message, "--slot is from 0 to 999");
  EXPECT_EQ(check(EventFilter{.pid = 0}).error().message, "--pid is 1 or more");
}
}  // namespace
}  // namespace moult
