#include "master/report/oom_kills.h"

#include <csignal>

#include "tests/unit/report/testing.h"
namespace moult {
namespace {
using testing::killed_by;

class RecordedCgroup {
 public:
  explicit RecordedCgroup(unsigned kills) {
    std::filesystem::create_directories(dir_ / "proc/self");
    std::filesystem::create_directories(dir_ / "sys/fs/cgroup/app");
    std::ofstream(dir_ / "proc/self/cgroup") << "0::/app\n";
    std::ofstream(dir_ / "proc/self/mountinfo")
        << "31 22 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
    set(kills);
  }
  void set(unsigned kills) {
    std::ofstream(dir_ / "sys/fs/cgroup/app/memory.events") << "oom 1\noom_kill " << kills << "\n";
  }
  void remove() { std::filesystem::remove_all(dir_ / "sys"); }
  std::string root() const { return dir_ / "."; }

 private:
  testing::TempDir dir_;
};

TEST(OomKills, OneRiseExplainsOneDeath) {
  RecordedCgroup cgroup(4);
  OomKills kills(cgroup.root());
  EXPECT_EQ(kills.killed(WorkerState::serving, killed_by(SIGKILL)), false);
  cgroup.set(6);
  EXPECT_EQ(kills.killed(WorkerState::serving, killed_by(SIGKILL)), true);
  EXPECT_EQ(kills.killed(WorkerState::booting, killed_by(SIGKILL)), true);
  EXPECT_EQ(kills.killed(WorkerState::serving, killed_by(SIGKILL)), false);
  EXPECT_EQ(kills.explained(), 2u);
}

TEST(OomKills, ARiseBeforeTheLastLookExplainsNothing) {
  RecordedCgroup cgroup(4);
  OomKills kills(cgroup.root());
  cgroup.set(5);
  kills.look();
  EXPECT_EQ(kills.killed(WorkerState::serving, killed_by(SIGKILL)), false);
}

TEST(OomKills, OurOwnKillAndOtherEndsAreNone) {
  RecordedCgroup cgroup(0);
  OomKills kills(cgroup.root());
  cgroup.set(1);
  EXPECT_EQ(kills.killed(WorkerState::killed, killed_by(SIGKILL)), false);
  EXPECT_EQ(kills.killed(WorkerState::serving, killed_by(SIGSEGV)), false);
  EXPECT_EQ(kills.killed(WorkerState::serving, testing::exited(1)), false);
}

TEST(OomKills, IsUnknownWhereNothingCanBeRead) {
  RecordedCgroup cgroup(0);
  cgroup.remove();
  OomKills kills(cgroup.root());
  EXPECT_EQ(kills.killed(WorkerState::serving, killed_by(SIGKILL)), std::nullopt);
}
}  // namespace
}  // namespace moult
