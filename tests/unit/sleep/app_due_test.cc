// NEXT_DUE: which words are due times, and when they are told.
#include "master/sleep/app_due.h"

#include <gmock/gmock.h>

#include <vector>
namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const WallTime now{1'700'000'000s};

std::string refusal(std::string_view text) {
  const auto due = parse_next_due(text, now);
  return due ? "" : due.error().message;
}

TEST(NextDue, IsUnixTimeInWholeSeconds) {
  EXPECT_EQ(*parse_next_due("1700000001", now), now + 1s);
  EXPECT_EQ(*parse_next_due("1700000000", now), now);
  EXPECT_EQ(*parse_next_due("1699999940", now), now - 60s) << "a little late";
}

TEST(NextDue, RefusesWhatIsNone) {
  for (const auto* text : {"", "soon", "1700000001.5", "1700000001 ", "+1700000001", "-1", "0x10", "1e9"})
    EXPECT_THAT(refusal(text), HasSubstr("is no unix time in whole seconds")) << text;
  EXPECT_EQ(refusal(std::string(1000, 'x')).size(), 45 + std::string(" is no unix time in whole seconds").size());
}

TEST(NextDue, RefusesMillisecondsAndLongPastTimes) {
  for (const auto* text : {"1700000001000", "9223372036854775807", "9223372036854775808", "99999999999999999999999"})
    EXPECT_THAT(refusal(text), HasSubstr("is more than ten years from now: it is unix time in seconds")) << text;
  for (const auto* text : {"0", "1699999939"}) EXPECT_THAT(refusal(text), HasSubstr("is more than a minute ago"));
}

class AppDueTest : public testing::Test {
 protected:
  static Worker worker(unsigned id) { return {.id = WorkerId{id}, .slot = id}; }
  void says(unsigned id, const std::string& text) { times.worker_next_due(worker(id), 4711, text); }
  void ends(unsigned id) { times.worker_gone(worker(id), Exit{}); }

  std::vector<WallTime> told;
  std::vector<std::string> warnings;
  AppDueTimes times{{.now = [] { return now; },
                     .due = [this](WallTime due) { told.push_back(due); },
                     .warn = [this](const std::string& line) { warnings.push_back(line); }}};
};

TEST_F(AppDueTest, TellsTheLastWordOfAWorkerWhenItIsGone) {
  says(1, "1700000100");
  says(1, "1700000200");
  says(2, "1700000300");
  EXPECT_THAT(told, IsEmpty());
  ends(1);
  EXPECT_THAT(told, ElementsAre(now + 200s));
  ends(1);
  ends(3);
  EXPECT_EQ(told.size(), 1u);
  ends(2);
  EXPECT_THAT(told, ElementsAre(now + 200s, now + 300s));
}

TEST_F(AppDueTest, WarnsOfABadWordOnceAWorkerAndKeepsTheGoodOne) {
  says(1, "1700000100");
  for (int i = 0; i < 3; ++i) says(1, "tomorrow");
  EXPECT_THAT(warnings,
              ElementsAre("worker 4711: NEXT_DUE='tomorrow' is no unix time in whole seconds. It wakes nobody"));
  ends(1);
  EXPECT_THAT(told, ElementsAre(now + 100s));
  says(2, "0");
  EXPECT_EQ(warnings.size(), 2u);
  ends(2);
  EXPECT_EQ(told.size(), 1u);
}

TEST_F(AppDueTest, ForgetsWhoNeverServed) {
  says(1, "1700000100");
  times.boot_failed(worker(1), Exit{});
  ends(1);
  EXPECT_THAT(told, IsEmpty());
}
}  // namespace
}  // namespace moult
