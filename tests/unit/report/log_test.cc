#include "master/report/log.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "master/report/timestamp.h"
#include "tests/unit/report/testing.h"
namespace moult {
namespace {
using ::testing::HasSubstr;
using testing::lines_of;
using ::testing::MatchesRegex;
using testing::Pipe;
using namespace std::chrono_literals;

const WallTime moment(std::chrono::sys_days(std::chrono::year(2026) / 1 / 2) + 3h + 4min + 5s + 678ms);

std::string logged(const LogOptions& asked, const std::function<void(Log&)>& use) {
  const testing::TempDir dir;
  const UniqueFd file(::open((dir / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  LogOptions options = asked;
  options.fd = file.get();
  {
    auto log = Log::start(options);
    EXPECT_TRUE(log);
    use(**log);
  }
  return testing::contents(dir / "log");
}

TEST(Timestamp, IsRfc3339InUtcWithMilliseconds) {
  EXPECT_EQ(rfc3339(moment), "2026-01-02T03:04:05.678Z");
  EXPECT_EQ(rfc3339(WallTime{}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(rfc3339(WallTime{} - 1ns), "1969-12-31T23:59:59.999Z");
}

TEST(Timestamp, KnowsTheLeapDay) {
  EXPECT_EQ(rfc3339(WallTime(std::chrono::sys_days(std::chrono::year(2028) / 2 / 29))), "2028-02-29T00:00:00.000Z");
}

TEST(Log, WritesTextAsGunicornDoes) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  LogOptions options;
  options.clocks = [] { return Clocks{{}, moment}; };
  const std::string text = logged(options, [](Log& log) { log.info("hello"); });
  EXPECT_EQ(text, "[2026-01-02 03:04:05 +0000] [" + std::to_string(getpid()) + "] [INFO] hello\n");
}

TEST(Log, WritesOneJsonObjectALineWhateverIsInTheMessage) {
  LogOptions options;
  options.format = LogFormat::json;
  options.clocks = [] { return Clocks{{}, moment}; };
  const auto lines = lines_of(logged(options, [](Log& log) { log.error("a \"b\"\nc \xff d"); }));
  ASSERT_EQ(lines.size(), 1u);
  const auto json = nlohmann::json::parse(lines[0]);
  EXPECT_EQ(json.at("at"), "2026-01-02T03:04:05.678Z");
  EXPECT_EQ(json.at("level"), "error");
  EXPECT_EQ(json.at("pid"), getpid());
  EXPECT_EQ(json.at("message"), "a \"b\"\nc \xef\xbf\xbd d");
}

TEST(Log, LeavesOutWhatIsBelowItsLevel) {
  LogOptions options;
  options.level = LogLevel::warning;
  const auto lines = lines_of(logged(options, [](Log& log) {
    log.debug("one");
    log.info("two");
    log.warning("three");
    log.critical("four");
  }));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], MatchesRegex(".*\\[WARNING\\] three"));
  EXPECT_THAT(lines[1], MatchesRegex(".*\\[CRITICAL\\] four"));
}

TEST(Log, NeverHoldsUpItsCallerNorTheExit) {
  Pipe pipe;
  const auto begin = std::chrono::steady_clock::now();
  {
    auto log = Log::start({.fd = pipe.writes.get(), .flush_at_exit = 50ms});
    ASSERT_TRUE(log);
    const std::string message(1000, 'x');
    for (int i = 0; i < 100'000; ++i) (*log)->info(message);
    EXPECT_GT((*log)->dropped(), 90'000u);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, testing::generous);
}

TEST(Log, BoundsItsRateAndSaysHowManyItLeftOut) {
  LogOptions options;
  auto now = std::make_shared<MonotonicTime>();
  options.clocks = [now] { return Clocks{*now, moment}; };
  const auto lines = lines_of(logged(options, [&](Log& log) {
    for (int i = 0; i < 2010; ++i) log.info("flood");
    *now += 1s;
    log.info("after");
    EXPECT_EQ(log.dropped(), 10u);
  }));
  ASSERT_EQ(lines.size(), 2002u);
  EXPECT_THAT(lines[2000], HasSubstr("10 log lines were left out: too many at once"));
  EXPECT_THAT(lines[2001], HasSubstr("after"));
}

TEST(RateBound, GivesAfterTheBurstTwentyLinesASecond) {
  RateBound bound;
  MonotonicTime now{};
  while (bound.allows_one(now)) continue;
  unsigned allowed = 0;
  for (int i = 0; i < 10'000; ++i) allowed += bound.allows_one(now += 1ms);
  EXPECT_NEAR(allowed, 200, 1);
}

TEST(LogLine, MakesControlCharactersVisible) {
  EXPECT_EQ(text_line(LogLevel::info, "T", 7, "a\x1b[2Jb\tc\nd\x7f"), "[T] [7] [INFO] a\\x1b[2Jb\tc\nd\\x7f\n");
}

TEST(LogLine, EndsWithOneNewline) { EXPECT_EQ(text_line(LogLevel::error, "T", 7, "a\n\n"), "[T] [7] [ERROR] a\n"); }

TEST(LogLine, KeepsBothEndsOfAMessageThatIsTooLong) {
  const std::string cut = shortened("begin" + std::string(100'000, 'x') + "end");
  EXPECT_LT(cut.size(), message_bytes_most + 100);
  EXPECT_TRUE(cut.starts_with("begin"));
  EXPECT_TRUE(cut.ends_with("end"));
  EXPECT_THAT(cut, HasSubstr("[83624 bytes left out]"));
}
}  // namespace
}  // namespace moult
