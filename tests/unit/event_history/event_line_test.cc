// One line of an event file, well formed and not.
#include "tools/event_history/event_line.h"

#include <gtest/gtest.h>

#include "master/report/timestamp.h"
namespace moult {
namespace {
std::string wrong(std::string_view text) {
  const auto line = read_event_line(text);
  return line ? "nothing" : line.error().message;
}
std::string recycled(const std::string& more) {
  return R"({"event":"worker_recycled","at":"2026-08-29T00:00:00Z","instance":"web","slot":1,)" + more + "}";
}

TEST(EventLine, OfARecycleWhatIsLookedAtIsRead) {
  const auto line = read_event_line(recycled(
      R"("reason":"limit","urgency":"routine","rss_bytes":5,"limit_bytes":4,"hard_limit_bytes":null,"requests":7,
         "lifetime_seconds":1.5,"gap_seconds":2,"holds":[{"reason":"cooldown","seconds":3.5},{"reason":"busy","seconds":9}],
         "of_a_later_version":{"a":[1]})"));
  ASSERT_TRUE(line) << line.error().message;
  ASSERT_TRUE(line->recycle);
  const RecycleLine& recycle = *line->recycle;
  EXPECT_EQ(rfc3339(recycle.at), "2026-08-29T00:00:00.000Z");
  EXPECT_EQ(recycle.instance, "web");
  EXPECT_EQ(recycle.slot, 1u);
  EXPECT_EQ(recycle.cause, Cause::limit);
  EXPECT_EQ(recycle.urgency, Urgency::routine);
  EXPECT_EQ(recycle.rss_bytes, 5u);
  EXPECT_EQ(recycle.hard_limit_bytes, std::nullopt);
  EXPECT_EQ(recycle.gap_seconds, 2.0);
  EXPECT_EQ(recycle.held_by_cooldown_seconds, 3.5);
  EXPECT_EQ(recycle.boot_rss_bytes, std::nullopt);
}

TEST(EventLine, HoldsThatAreNotSaidAreNotZero) {
  EXPECT_EQ(read_event_line(recycled(R"("holds":null)"))->recycle->held_by_cooldown_seconds, std::nullopt);
  EXPECT_EQ(read_event_line(recycled(R"("holds":[])"))->recycle->held_by_cooldown_seconds, 0.0);
}

TEST(EventLine, WordsAndEventsOfLaterVersionsAreNoFault) {
  EXPECT_EQ(read_event_line(recycled(R"("reason":"full_moon")"))->recycle->cause, std::nullopt);
  const auto line = read_event_line(R"({"event":"slept","at":"2026-08-29T00:00:00Z","rss_bytes":"of another kind"})");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->event, "slept");
  EXPECT_FALSE(line->recycle);
}

TEST(EventLine, SaysWhatIsWrongWithALine) {
  EXPECT_EQ(wrong("{"), "not JSON");
  EXPECT_EQ(wrong("\xff\xfe{}"), "not JSON");
  EXPECT_EQ(wrong("[]"), "no JSON object");
  EXPECT_EQ(wrong("{}"), "it has no \"event\"");
  EXPECT_EQ(wrong(R"({"event":7,"at":"2026-08-29T00:00:00Z"})"), "event is no text");
  EXPECT_EQ(wrong(R"({"event":"slept"})"), "it has no \"at\"");
  EXPECT_EQ(wrong(R"({"event":"slept","at":"yesterday"})"), "\"at\" is no moment");
  EXPECT_EQ(wrong(R"({"event":"slept","at":1788034563})"), "at is no text");
}

TEST(EventLine, FiguresOfTheWrongKindMakeALineMalformed) {
  EXPECT_EQ(wrong(recycled(R"("rss_bytes":"5")")), "rss_bytes is no number");
  EXPECT_EQ(wrong(recycled(R"("rss_bytes":NaN)")), "not JSON");
  EXPECT_EQ(wrong(recycled(R"("rss_bytes":-1)")), "rss_bytes is out of range");
  EXPECT_EQ(wrong(recycled(R"("rss_bytes":1e30)")), "rss_bytes is out of range");
  EXPECT_EQ(wrong(recycled(R"("gap_seconds":1e999)")), "not JSON");
  EXPECT_EQ(wrong(recycled(R"("lifetime_seconds":[])")), "lifetime_seconds is no number");
  EXPECT_EQ(wrong(recycled(R"("reason":{})")), "reason is no text");
  EXPECT_EQ(wrong(recycled(R"("holds":7)")), "holds is no list");
  EXPECT_EQ(wrong(recycled(R"("holds":[7])")), "holds has something else than objects");
  EXPECT_EQ(wrong(recycled(R"("holds":[{"reason":"cooldown","seconds":"long"}])")), "holds: seconds is no number");
  EXPECT_EQ(wrong(R"({"event":"slept","at":"2026-08-29T00:00:00Z","slot":-1})"), "slot is out of range");
}

TEST(EventLine, DeepNestingIsNoTrouble) {
  EXPECT_EQ(wrong(std::string(500'000, '[')), "not JSON");
  EXPECT_EQ(wrong(std::string(250'000, '[') + std::string(250'000, ']')), "no JSON object");
}
}  // namespace
}  // namespace moult
