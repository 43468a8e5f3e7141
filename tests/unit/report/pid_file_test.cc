#include "master/report/pid_file.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <optional>

#include "tests/unit/report/testing.h"
namespace moult {
namespace {
using testing::contents;
using testing::TempDir;
const std::string ours = std::to_string(::getpid()) + "\n";

// A child that lives until it is destroyed.
class Child {
 public:
  Child() : pid_(::fork()) {
    if (pid_ != 0) return;
    ::pause();
    ::_exit(0);
  }
  ~Child() { end(); }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST(PidFile, HoldsOurPidWhileItLives) {
  const TempDir dir;
  {
    const auto file = PidFile::create(dir / "pid");
    ASSERT_TRUE(file);
    EXPECT_EQ(contents(dir / "pid"), ours);
    struct stat status;
    ASSERT_EQ(::stat((dir / "pid").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0644u);
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir / ""));
}

TEST(PidFile, IsRefusedWithThePidOfALiveOwner) {
  const TempDir dir;
  const Child other;
  std::ofstream(dir / "pid") << other.pid() << "\n";
  const auto file = PidFile::create(dir / "pid");
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message.find("process " + std::to_string(other.pid())), std::string::npos);
  EXPECT_EQ(contents(dir / "pid"), std::to_string(other.pid()) + "\n");
}

TEST(PidFile, ReplacesOneOfADeadProcess) {
  const TempDir dir;
  Child other;
  std::ofstream(dir / "pid") << other.pid();
  other.end();
  const auto file = PidFile::create(dir / "pid");
  ASSERT_TRUE(file);
  EXPECT_EQ(contents(dir / "pid"), ours);
}

TEST(PidFile, ReplacesOurOwnPidOfAFormerLifeAndNonsense) {
  const TempDir dir;
  for (const std::string& before : {ours, std::string("nonsense"), std::string(""), std::string("-1"),
                                    std::string("99999999999999"), std::string("1x")}) {
    std::ofstream(dir / "pid") << before;
    EXPECT_TRUE(PidFile::create(dir / "pid")) << before;
  }
}

TEST(PidFile, LeavesAFileAloneThatNamesAnotherByNow) {
  const TempDir dir;
  {
    const auto file = PidFile::create(dir / "pid");
    ASSERT_TRUE(file);
    std::ofstream(dir / "pid") << "1\n";
  }
  EXPECT_EQ(contents(dir / "pid"), "1\n");
}

TEST(PidFile, IsRemovedOnceThoughItMoved) {
  const TempDir dir;
  std::optional<PidFile> kept;
  {
    auto file = PidFile::create(dir / "pid");
    ASSERT_TRUE(file);
    kept = std::move(*file);
  }
  EXPECT_EQ(contents(dir / "pid"), ours);
  kept.reset();
  EXPECT_FALSE(std::filesystem::exists(dir / "pid"));
}

TEST(PidFile, NamesAFolderThatIsNotThere) {
  const auto file = PidFile::create("/nowhere/pid");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message, "cannot create the pid file /nowhere/pid: No such file or directory");
}
}  // namespace
}  // namespace moult
