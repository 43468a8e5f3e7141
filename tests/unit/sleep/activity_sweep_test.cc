// One look at real scoreboards.
#include "master/sleep/activity_sweep.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
namespace moult {
namespace {
using namespace std::chrono_literals;

// A worker that has a scoreboard, and nothing else to say.
class QuietLink final : public WorkerLink {
 public:
  explicit QuietLink(bool adopts) : board(*ScoreboardMemory::create()), adopts_(adopts) {}
  void go(unsigned) override {}
  void retire(MonotonicTime, Adopters) override {}
  void signal(int) override {}
  void reopen_logs() override {}
  pid_t pid() const override { return 1; }
  const ScoreboardMemory* scoreboard() const override { return &board; }
  std::optional<MonotonicTime> heartbeat() const override { return std::nullopt; }
  bool adopts() const override { return adopts_; }
  void write(ScoreboardField field, std::uint64_t value) { board.write(field, value); }

  ScoreboardMemory board;

 private:
  bool adopts_;
};

class ActivitySweepTest : public testing::Test {
 protected:
  QuietLink& add(unsigned id, bool adopts = true) {
    pool.workers.push_back({.id = WorkerId{id}, .slot = id, .state = WorkerState::serving});
    return *(links[WorkerId{id}] = std::make_unique<QuietLink>(adopts));
  }
  Pool pool;
  std::map<WorkerId, std::unique_ptr<QuietLink>> links;
  ActivitySweep sweep{{[this]() -> const Pool& { return pool; },
                       [this](WorkerId id) -> WorkerLink* {
                         const auto found = links.find(id);
                         return found == links.end() ? nullptr : found->second.get();
                       }}};
};

TEST_F(ActivitySweepTest, SeesAllWorkersWhateverTheirState) {
  add(1).write(ScoreboardField::requests_started, 2);
  add(2).write(ScoreboardField::calls_started, 1);
  pool.workers[0].state = WorkerState::retiring;
  const auto seen = sweep.look();
  EXPECT_EQ(seen.activity.requests, 2u);
  EXPECT_EQ(seen.activity.calls, 1u);
}

TEST_F(ActivitySweepTest, WantsRoomForTheIdleConnectionsOfThoseWhoHandThemOver) {
  add(1).write(ScoreboardField::open_connections, 5);
  add(2, false).write(ScoreboardField::open_connections, 7);
  EXPECT_EQ(sweep.look().idle_connections, 5u);
}

TEST_F(ActivitySweepTest, RemembersTheLastVisitorOfAWorkerThatIsGone) {
  add(1).write(ScoreboardField::last_visitor_activity_ns, 9'000'000'000);
  sweep.worker_gone(pool.workers[0], {});
  links.clear();
  EXPECT_EQ(sweep.look().activity.last_visitor_at, MonotonicTime(9s));
  pool.workers.clear();
  add(2).write(ScoreboardField::last_visitor_activity_ns, 4'000'000'000);
  EXPECT_EQ(sweep.look().activity.last_visitor_at, MonotonicTime(9s));
}
}  // namespace
}  // namespace moult
