#include "master/pool/close_announcer.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>
namespace moult {
namespace {
using testing::ElementsAre;
using testing::IsEmpty;

struct ListeningLink final : WorkerLink {
  std::vector<std::string> said;
  void go(unsigned) override {}
  void retire(MonotonicTime, Adopters) override {}
  void signal(int) override {}
  void reopen_logs() override {}
  pid_t pid() const override { return 1; }
  const ScoreboardMemory* scoreboard() const override { return nullptr; }
  std::optional<MonotonicTime> heartbeat() const override { return std::nullopt; }
  void announce_close() override { said.push_back("announce"); }
};

class CloseAnnouncerTest : public testing::Test {
 protected:
  Worker& worker(std::uint64_t id, WorkerState state) {
    return pool.workers.emplace_back(Worker{.id = {id}, .slot = 0, .generation = {1}, .state = state});
  }
  std::vector<std::string> told_in(Mode mode) {
    pool.goal.mode = mode;
    announcer.pool_settled(pool);
    return std::exchange(link.said, {});
  }
  Pool pool;
  ListeningLink link;
  CloseAnnouncer announcer{[this](WorkerId) { return &link; }};
};

TEST_F(CloseAnnouncerTest, WhoServesIsToldOnceWhenAStopBegins) {
  worker(1, WorkerState::serving);
  worker(2, WorkerState::serving);
  EXPECT_THAT(told_in(Mode::serve), IsEmpty());
  EXPECT_THAT(told_in(Mode::delay), ElementsAre("announce", "announce"));
  EXPECT_THAT(told_in(Mode::delay), IsEmpty());
  EXPECT_THAT(told_in(Mode::draining), IsEmpty());
}

TEST_F(CloseAnnouncerTest, WhoBeginsToServeDuringTheStopIsToldThen) {
  worker(1, WorkerState::booting);
  EXPECT_THAT(told_in(Mode::delay), IsEmpty());
  pool.workers.front().state = WorkerState::serving;
  EXPECT_THAT(told_in(Mode::delay), ElementsAre("announce"));
}

TEST_F(CloseAnnouncerTest, InAStopWithoutDelayWhoRetiresIsToldAsIsTheOneThatServesToItsEnd) {
  worker(1, WorkerState::serving);
  worker(2, WorkerState::retiring);
  EXPECT_THAT(told_in(Mode::draining), ElementsAre("announce", "announce"));
}

TEST_F(CloseAnnouncerTest, WhoRetiresForAnotherReasonIsNot) {
  worker(1, WorkerState::retiring);
  EXPECT_THAT(told_in(Mode::serve), IsEmpty());
}

TEST_F(CloseAnnouncerTest, InAQuickStopNobodyIs) {
  worker(1, WorkerState::serving);
  EXPECT_THAT(told_in(Mode::quick), IsEmpty());
}
}  // namespace
}  // namespace moult
