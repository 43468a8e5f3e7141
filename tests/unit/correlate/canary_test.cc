// What a canary wrote, read.
#include "tools/correlate/canary.h"

#include <gmock/gmock.h>

#include "master/report/timestamp.h"
namespace moult {
namespace {
const std::string evening = "2026-08-29T20:16:03.000Z";

Canary canary_of(std::string_view line) {
  Canary canary;
  EXPECT_TRUE(add(canary, "canary", {1, line, false}));
  return canary;
}

TEST(Canary, ItsTimeIsFoundInJsonAndInText) {
  for (const char* line :
       {R"({"at": "2026-08-29T20:16:03Z", "kind": "retry"})", R"({"time": 1788034563})",
        R"({"timestamp": "2026-08-29T20:16:03+00:00"})", R"({"@timestamp": "2026-08-29T22:16:03+02:00"})",
        R"({"ts": 1788034563.0, "at": "lobby"})", "2026-08-29T20:16:03Z GET / 502", "{torn 2026-08-29T20:16:03Z"}) {
    const Canary canary = canary_of(line);
    ASSERT_EQ(canary.times.size(), 1u) << line;
    EXPECT_EQ(rfc3339(canary.times.front()), evening) << line;
  }
}

TEST(Canary, LinesWithoutATimeAreCountedAndLeftOut) {
  for (const char* line : {R"({"kind": "2026-08-29T20:16:03Z"})", R"({"at": null})", R"({"at": []})",
                           R"({"at": 1e300})", "  File \"app.py\", line 12", "\xff\x00\x01"}) {
    EXPECT_EQ(canary_of(line).without_moment, 1u) << line;
  }
}

TEST(Canary, TimesWithoutAZoneAreCounted) {
  EXPECT_EQ(canary_of("2026-08-29 20:16:03 reset").without_zone, 1u);
  EXPECT_EQ(canary_of("2026-08-29 20:16:03Z reset").without_zone, 0u);
}

TEST(Canary, WhatHasNoTimeAtAllIsTheWrongFile) {
  EXPECT_THAT(read_canary(__FILE__ "/nowhere").error().message, testing::HasSubstr("cannot read"));
  EXPECT_THAT(read_canary("/proc/self/cmdline").error().message,
              testing::HasSubstr("no line of /proc/self/cmdline has a time"));
}
}  // namespace
}  // namespace moult
