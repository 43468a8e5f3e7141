// What workers tell of their clients, and what it adds up to.
#include "master/sleep/activity.h"

#include <gtest/gtest.h>

#include <map>
namespace moult {
namespace {
using Board = std::map<ScoreboardField, std::uint64_t>;

WorkerActivity read(Board board) {
  return read_activity([&](ScoreboardField field) { return board[field]; });
}

TEST(WorkerActivity, IsWhatWasBegunAndNotFinished) {
  const WorkerActivity seen = read({{ScoreboardField::requests_started, 12},
                                    {ScoreboardField::requests_finished, 9},
                                    {ScoreboardField::calls_started, 4},
                                    {ScoreboardField::calls_finished, 4},
                                    {ScoreboardField::upgraded_connections, 2},
                                    {ScoreboardField::open_connections, 7},
                                    {ScoreboardField::last_visitor_activity_ns, 5'000'000'000}});
  EXPECT_EQ(seen.requests, 3u);
  EXPECT_EQ(seen.calls, 0u);
  EXPECT_EQ(seen.upgraded, 2u);
  EXPECT_EQ(seen.last_visitor_at, MonotonicTime(std::chrono::seconds(5)));
  EXPECT_EQ(idle_connections(seen), 4u);
}

// A request begins and ends between the two looks: it is seen, and the next look sees that it is over.
TEST(WorkerActivity, TakesWhatHappensWhileItLooksAsInFlight) {
  Board board{{ScoreboardField::requests_started, 5}, {ScoreboardField::requests_finished, 5}};
  const auto live = [&](ScoreboardField field) {
    const std::uint64_t value = board[field];
    if (field == ScoreboardField::requests_finished) {
      ++board[ScoreboardField::requests_started];
      ++board[ScoreboardField::requests_finished];
    }
    return value;
  };
  EXPECT_EQ(read_activity(live).requests, 1u);
}

TEST(WorkerActivity, MakesNothingOfWhatNoWorkerWouldWrite) {
  const WorkerActivity seen = read({{ScoreboardField::requests_started, 3},
                                    {ScoreboardField::requests_finished, 4},
                                    {ScoreboardField::last_visitor_activity_ns, ~0ull},
                                    {ScoreboardField::upgraded_connections, 9},
                                    {ScoreboardField::open_connections, 2}});
  EXPECT_EQ(seen.requests, 0u);
  EXPECT_EQ(seen.last_visitor_at, MonotonicTime{});
  EXPECT_EQ(idle_connections(seen), 0u);
}

TEST(Activity, OfAllWorkersIsTheirSumAndTheLatestVisitor) {
  Activity all;
  add(all, {.requests = 1, .calls = 2, .upgraded = 1, .last_visitor_at = MonotonicTime(std::chrono::seconds(7))});
  add(all, {.requests = 2, .calls = 0, .upgraded = 0, .last_visitor_at = MonotonicTime(std::chrono::seconds(3))});
  add(all, {.requests = ~0ull});
  EXPECT_EQ(all.requests, ~0u);
  EXPECT_EQ(all.calls, 2u);
  EXPECT_EQ(all.upgraded, 1u);
  EXPECT_EQ(all.last_visitor_at, MonotonicTime(std::chrono::seconds(7)));
}
}  // namespace
}  // namespace moult
