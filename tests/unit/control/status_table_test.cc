#include "master/control/status_table.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
namespace moult {
namespace {
using nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

json two_workers() {
  return json::parse(R"({"version":"0.1.0","name":"web","pid":812,"generation":2,"state":"active",
    "uptime_seconds":3725.5,"wanted":3,"boot_error":"","workers":[
    {"slot":0,"pid":900,"state":"serving","generation":2,"uptime_seconds":59.9,"requests":12345,"in_flight":2,
     "rss_bytes":57900000,"limit_bytes":113221335,"hold":"cooldown"},
    {"slot":10,"pid":null,"state":"booting","generation":3}]})");
}

TEST(StatusTable, HasAHeaderAndALineForEachWorkerWithADashForWhatIsAbsent) {
  EXPECT_EQ(status_table(two_workers(), 0),
            "moult 0.1.0  name web  pid 812  state active  generation 2  uptime 1h02m  serving 1 of 3 wanted\n"
            "SLOT  PID  STATE    GENERATION  UPTIME  REQUESTS  IN-FLIGHT  MEMORY   LIMIT  WAITS FOR\n"
            "   0  900  serving           2     59s     12345          2   58 MB  113 MB  cooldown\n"
            "  10    -  booting           3       -         -          -       -       -  -\n");
}

TEST(StatusTable, SaysOfAHoldThatIsNearlyOverThatASecondIsLeft) {
  json status = two_workers();
  status["workers"][0]["hold_ends_in_seconds"] = 0.2;
  EXPECT_THAT(status_table(status, 0), HasSubstr("  cooldown 1s\n"));
  status["workers"][0]["hold_ends_in_seconds"] = 59.2;
  EXPECT_THAT(status_table(status, 0), HasSubstr("  cooldown 1m00s\n"));
}

TEST(StatusTable, LeavesColumnsOutFromTheRightWhereTheTerminalIsNarrow) {
  const auto first_row = [](std::size_t width) {
    const std::string table = status_table(two_workers(), width);
    const std::size_t begin = table.find('\n') + 1;
    return table.substr(begin, table.find('\n', begin) - begin);
  };
  EXPECT_EQ(first_row(86), "SLOT  PID  STATE    GENERATION  UPTIME  REQUESTS  IN-FLIGHT  MEMORY   LIMIT  WAITS FOR");
  EXPECT_EQ(first_row(59), "SLOT  PID  STATE    GENERATION  UPTIME  REQUESTS  IN-FLIGHT");
  EXPECT_EQ(first_row(58), "SLOT  PID  STATE    GENERATION  UPTIME  REQUESTS");
  EXPECT_EQ(first_row(30), "SLOT  PID  STATE    GENERATION");
  EXPECT_EQ(first_row(1), "SLOT  PID  STATE");
}

TEST(StatusTable, HasALineForEachSlotThatWaitsWithWhatItWaitsFor) {
  json status = two_workers();
  status["workers"].push_back({{"slot", nullptr}, {"pid", 902}, {"state", "spare"}, {"generation", 2}});
  status["waiting_slots"] = {{{"slot", 2}, {"failed_boots", 3}, {"retry_seconds", 4.2}},
                             {{"slot", 11}, {"failed_boots", 1}, {"retry_seconds", nullptr}},
                             {{"slot", 12}, {"failed_boots", 0}, {"retry_seconds", nullptr}}};
  const std::string rows =
      "SLOT  PID  STATE    GENERATION  UPTIME  REQUESTS  IN-FLIGHT\n"
      "   0  900  serving           2     59s     12345          2\n"
      "   2    -  waiting  next attempt in 5s, after 3 failed boots\n"
      "  10    -  booting           3       -         -          -\n"
      "  11    -  waiting  until the app is loaded, after 1 failed boot\n"
      "  12    -  waiting  until the app is loaded\n"
      "   -  902  spare             2       -         -          -\n";
  EXPECT_THAT(status_table(status, 59), EndsWith(rows));
  EXPECT_THAT(status_table(status, 1), HasSubstr("\n   2    -  waiting  next attempt in 5s, after 3 failed boots\n"));
}

TEST(StatusTable, SaysHowManyLinesWereLostWhereAnyWere) {
  json status = two_workers();
  status["log_lines_dropped"] = 0;
  status["events_dropped"] = 0;
  EXPECT_THAT(status_table(status, 0), Not(HasSubstr("lost")));
  status["events_dropped"] = 1;
  EXPECT_THAT(status_table(status, 0), HasSubstr("\nlost, because nobody read them or the disk was full: 1 event\n"));
  status["log_lines_dropped"] = 12;
  EXPECT_THAT(status_table(status, 0),
              HasSubstr("\nlost, because nobody read them or the disk was full: 12 log lines, 1 event\n"));
}

TEST(StatusTable, ShowsABootErrorInFull) {
  json status = two_workers();
  status["boot_error"] = "exited with status 1";
  EXPECT_THAT(status_table(status, 20), EndsWith("\nlast trouble: exited with status 1\n"));
  status["boot_error"] = "Traceback:\n  File \"app.py\"\nValueError: no\n";
  EXPECT_THAT(status_table(status, 20),
              EndsWith("\nlast trouble:\n  Traceback:\n    File \"app.py\"\n  ValueError: no\n"));
}

TEST(StatusTable, SaysHowOldTheLastTroubleIsAndWhetherEverybodyServesNow) {
  json status = two_workers();
  status["boot_error"] = "exited with status 1";
  status["boot_error_age_seconds"] = 125.7;
  EXPECT_THAT(status_table(status, 20), EndsWith("\nlast trouble, 2m05s ago: exited with status 1\n"));
  status["wanted"] = 1;
  EXPECT_THAT(status_table(status, 20),
              EndsWith("\nlast trouble, 2m05s ago, every wanted worker serves now: exited with status 1\n"));
}

TEST(StatusTable, SaysThatTheBudgetIsOverdrawn) {
  json status = two_workers();
  status["gate"]["tokens"] = 0.0;
  EXPECT_THAT(status_table(status, 0), Not(HasSubstr("overdrawn")));
  status["gate"]["tokens"] = -39.104;
  EXPECT_THAT(status_table(status, 0), HasSubstr("\nbudget overdrawn by 39.1 replacements"));
}

TEST(StatusTable, SaysThatTheFleetsStoreIsAwayAndSinceWhenAndWhy) {
  json status = two_workers();
  status["gate"] = {{"fleet", "web"}, {"trouble", nullptr}, {"trouble_seconds", nullptr}};
  EXPECT_THAT(status_table(status, 0), Not(HasSubstr("away")));
  status["gate"] = {{"fleet", "web"}, {"trouble", "redis://h:1: connection refused"}, {"trouble_seconds", 65.2}};
  EXPECT_THAT(status_table(status, 0), HasSubstr("\nfleet web: the store has been away for 1m05s, only urgent "
                                                 "replacements go on: redis://h:1: connection refused\n"));
}

TEST(StatusTable, SaysOfAnAppThatMaySleepWhatItDoesAndWhy) {
  json status = two_workers();
  const auto shown = [&](json idle) {
    status["idle"] = std::move(idle);
    return status_table(status, 0);
  };
  EXPECT_THAT(shown({{"state", "active"}, {"blocked_by", "switched_off"}}), Not(HasSubstr("awake")));
  EXPECT_THAT(shown({{"state", "active"}, {"blocked_by", "upgraded"}}),
              HasSubstr("\nawake: a WebSocket or an event stream is open\n"));
  EXPECT_THAT(
      shown({{"state", "active"}, {"blocked_by", "failed_stop"}, {"failure", "Traceback\n--on-sleep failed: x\n"}}),
      HasSubstr("\nawake: the last attempt to sleep failed: --on-sleep failed: x\n"));
  EXPECT_THAT(shown({{"state", "asleep"}, {"since_seconds", 65}}),
              HasSubstr("\nasleep for 1m05s: the next caller wakes the app\n"));
  EXPECT_THAT(shown({{"state", "asleep"}, {"refuses_for_seconds", 4.0}, {"failure", "no such app"}}),
              HasSubstr("\nasleep, and could not be woken: callers get 503 for 4s: no such app\n"));
  EXPECT_THAT(shown({{"state", "asleep"}, {"refuses_for_seconds", 0.012}, {"failure", "no such app"}}),
              HasSubstr("\nasleep, and could not be woken: callers get 503 for 1s: no such app\n"));
  EXPECT_THAT(shown({{"state", "waking"}, {"woken_by", "caller"}, {"since_seconds", 1}}),
              HasSubstr("\nwakes for caller, since 1s\n"));
}

TEST(StatusTable, SaysOfASleepingAppWhatIsKeptWarm) {
  json status = two_workers();
  status["idle"] = {{"state", "asleep"}, {"since_seconds", 65}, {"warm", true}, {"warm_for_seconds", 14'000}};
  EXPECT_THAT(status_table(status, 0), HasSubstr("the next caller wakes the app, which is kept warm for 3h53m\n"));
  status["idle"]["warm"] = false;
  EXPECT_THAT(status_table(status, 0), HasSubstr(", and waits while it is loaded: nothing is kept warm\n"));
}

TEST(StatusTable, SaysWhatIsOnItsWayToClientsAndHowThoseEndedThatWere) {
  json status = two_workers();
  status["linger"] = {{"watched", 0}, {"stalled", 0}, {"fail_closed", 0}, {"begun", 0}, {"trouble", nullptr}};
  EXPECT_THAT(status_table(status, 0), Not(HasSubstr("on its way")));
  status["linger"] = {{"watched", 2},
                      {"stalled", 1},
                      {"fail_closed", 1},
                      {"begun", 245},
                      {"outcomes", {{"delivered", 240}, {"reset", 3}, {"aborted", 0}}}};
  EXPECT_THAT(
      status_table(status, 0),
      HasSubstr("\non its way to clients: 2 connections are watched, 1 of them stalled; ended: 240 delivered, 3 "
                "reset\n1 of them can be neither delivered nor cut off"));
  status["linger"]["trouble"] = "sock_diag: not permitted";
  EXPECT_THAT(status_table(status, 0), HasSubstr("so the app does not sleep: sock_diag: not permitted\n"));
}

TEST(StatusTable, HasTheScheduleBelowWhereThereIsOne) {
  json status = two_workers();
  EXPECT_THAT(status_table(status, 0), Not(HasSubstr("scheduled")));
  status["schedule"] = {{{"name", "poll"},
                         {"when", "every 5m"},
                         {"state", "waiting"},
                         {"next_at", "2026-01-01T22:05:00.000Z"},
                         {"last_outcome", "answered"},
                         {"last_status", 204},
                         {"holds_awake_words", "yes: it is due oftener than --idle"}}};
  const std::string table = status_table(status, 0);
  EXPECT_THAT(table, HasSubstr("poll  2026-01-01T22:05:00.000Z  204"));
  EXPECT_THAT(table, HasSubstr("holds the app awake?\n  poll: yes: it is due oftener than --idle\n"));
}

TEST(StatusTable, LetsNoAppSteerTheTerminal) {
  json status = two_workers();
  status["boot_error"] = "\x1b[2Jgone\r";
  status["name"] = "a\nb\x07";
  const std::string table = status_table(status, 0);
  EXPECT_THAT(table, HasSubstr("last trouble:  [2Jgone"));
  EXPECT_THAT(table, HasSubstr("name a b   pid"));
  EXPECT_THAT(table, Not(HasSubstr("\x1b")));
}

TEST(StatusTable, ShowsUptimesInTheirTwoLargestUnits) {
  json status = two_workers();
  const auto shown = [&](double seconds) {
    status["uptime_seconds"] = seconds;
    const std::string table = status_table(status, 0);
    const std::size_t begin = table.find("uptime ") + 7;
    return table.substr(begin, table.find(' ', begin) - begin);
  };
  EXPECT_EQ(shown(0), "0s");
  EXPECT_EQ(shown(60), "1m00s");
  EXPECT_EQ(shown(3599), "59m59s");
  EXPECT_EQ(shown(86399), "23h59m");
  EXPECT_EQ(shown(86400), "1d00h");
  EXPECT_EQ(shown(-1), "-");
}

TEST(StatusTable, BearsADocumentThatIsNothingLikeOne) {
  for (const char* text :
       {"null", "[]", "7", R"({"workers":7,"boot_error":[],"pid":{}})", R"({"workers":[null,1,[]]})",
        R"({"workers":[{"slot":0}],"waiting_slots":[null,7,{"slot":"x","retry_seconds":[],"failed_boots":-1}]})",
        R"({"waiting_slots":7})"})
    EXPECT_THAT(status_table(json::parse(text), 80), HasSubstr("SLOT")) << text;
}
}  // namespace
}  // namespace moult
