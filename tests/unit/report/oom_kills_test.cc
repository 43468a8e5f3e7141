#include "master/report/oom_kills.h"

#include <csignal>

#include "tests/unit/report/testing.h"
namespace moult {
namespace {
using testing::killed_by;

TEST(OomKills, ParsesBothFormsOfTheCgroupsAndVmstat) {
  EXPECT_EQ(parse_oom_kills("low 0\nhigh 0\nmax 3\noom 2\noom_kill 5\noom_group_kill 0\n"), 5u);
  EXPECT_EQ(parse_oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 7"), 7u);
  EXPECT_EQ(parse_oom_kills("oom_kill x\n"), std::nullopt);
  EXPECT_EQ(parse_oom_kills(""), std::nullopt);
}

TEST(OomKills, LooksWhereTheProcessIsThenAtTheRoot) {
  const auto v2 = oom_kill_places("0::/a/b\n", "/cg");
  EXPECT_EQ(v2.first, "/cg/a/b/memory.events");
  EXPECT_EQ(v2.second, "/cg/memory.events");
  const auto v1 = oom_kill_places("5:cpu,memory:/a\n1:cpu:/\n0::/\n", "/cg");
  EXPECT_EQ(v1.first, "/cg/memory/a/memory.oom_control");
  EXPECT_EQ(v1.second, "/cg/memory/memory.oom_control");
  EXPECT_EQ(oom_kill_places("nonsense", "/cg").first, "");
}

class RecordedCgroup {
 public:
  explicit RecordedCgroup(unsigned kills) {
    std::filesystem::create_directories(dir_ / "proc/self");
    std::filesystem::create_directories(dir_ / "sys/fs/cgroup/app");
    std::ofstream(dir_ / "proc/self/cgroup") << "0::/app\n";
    set(kills);
  }
  void set(unsigned kills) {
    std::ofstream(dir_ / "sys/fs/cgroup/app/memory.events") << "oom 1\noom_kill " << kills << "\n";
  }
  void remove() { std::filesystem::remove_all(dir_ / "sys"); }
  std::string root() const { return dir_ / ""; }

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
