// Moments, as events, logs and canaries write them.
#include "tools/event_history/moment.h"

#include <gtest/gtest.h>

#include "master/report/timestamp.h"
namespace moult {
namespace {
std::string read(std::string_view text) {
  const auto moment = read_moment(text);
  return moment ? rfc3339(moment->at) : "none";
}
std::string found(std::string_view line) {
  const auto moment = find_moment(line);
  return moment ? rfc3339(moment->at) : "none";
}
const std::string evening = "2026-08-29T20:16:03.000Z";

TEST(Moment, WhatEventsSayIsReadBack) { EXPECT_EQ(read("2026-08-29T20:16:03.218Z"), "2026-08-29T20:16:03.218Z"); }

TEST(Moment, FormsOfLogsAreRead) {
  for (const char* text : {"2026-08-29T20:16:03Z", "2026-08-29 20:16:03", "2026/08/29 20:16:03", "2026-08-29t20:16:03z",
                           "2026-08-29 22:16:03+02:00", "2026-08-29T18:46:03 -0130", "29/Aug/2026:20:16:03 +0000",
                           "29/Aug/2026:22:16:03 +0200", "2026-08-29 20:16:03 UTC", "1788034563", "1788034563000"})
    EXPECT_EQ(read(text), evening) << text;
  EXPECT_EQ(read("2026-08-29 20:16"), "2026-08-29T20:16:00.000Z");
  EXPECT_EQ(read("2026-08-29 20:16:03,218"), "2026-08-29T20:16:03.218Z");
  EXPECT_EQ(read("2026-08-29T20:16:03.218999999999Z"), "2026-08-29T20:16:03.218Z");
  EXPECT_EQ(read("1788034563.218"), "2026-08-29T20:16:03.218Z");
}

TEST(Moment, WithoutAZoneThatIsSaid) {
  EXPECT_FALSE(read_moment("2026-08-29 20:16:03")->has_zone);
  EXPECT_TRUE(read_moment("2026-08-29 20:16:03Z")->has_zone);
  EXPECT_TRUE(read_moment("1788034563")->has_zone);
}

TEST(Moment, WhatIsNoneIsRefused) {
  for (const char* text : {"",
                           "Z",
                           "2026",
                           "2026-13-01T00:00:00Z",
                           "2026-02-30T00:00:00Z",
                           "2026-08-29",
                           "2026-08-29T24:00:00Z",
                           "2026-08-29T20:60:00Z",
                           "2026-08-29T20:16:61Z",
                           "1969-12-31T23:59:59Z",
                           "2200-01-01T00:00:00Z",
                           "9999-12-31T23:59:59Z",
                           "2026-08/29T20:16:03Z",
                           "2026-08-29T20:16:03Zx",
                           "29/Foo/2026:20:16:03 +0000",
                           "99999999999999999999999",
                           "123456",
                           "-1788034563",
                           "nan",
                           "inf",
                           "1e400"})
    EXPECT_EQ(read(text), "none") << text;
}

TEST(Moment, IsFoundInALineOfText) {
  for (const char* line : {"2026-08-29 20:16:03 ERROR fetch failed", "[2026-08-29 20:16:03 +0000] [12] [ERROR] 502",
                           "10.0.0.1 - - [29/Aug/2026:20:16:03 +0000] \"GET / HTTP/1.1\" 502 0",
                           "2026/08/29 20:16:03 [error] 7#7: *1 recv() failed", "1788034563 reset by peer",
                           "[1788034563.0] reset", "retry 3 of 12 at 2026-08-29T20:16:03Z"})
    EXPECT_EQ(found(line), evening) << line;
}

TEST(Moment, IsNotSeenInOtherNumbers) {
  for (const char* line : {"", "took 1788034563 ns", "error 502", "192.168.100.200:8000 refused", "Traceback:"})
    EXPECT_EQ(found(line), "none") << line;
}

TEST(Moment, IsSearchedInTheBeginningOfALineOnly) {
  EXPECT_EQ(found(std::string(searched_letters - 20, ' ') + "2026-08-29T20:16:03Z"), evening);
  EXPECT_EQ(found(std::string(searched_letters, ' ') + "2026-08-29T20:16:03Z"), "none");
}
}  // namespace
}  // namespace moult
