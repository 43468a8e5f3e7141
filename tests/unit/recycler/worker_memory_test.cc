// Real processes, and files that are not as expected.
#include "recycler/worker_memory.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "recycler/kernel_text.h"

namespace moult {
namespace {
using testing::HasSubstr;
constexpr std::uint64_t MB = 1'000'000;

// A child that touches so much and then waits to be killed.
class Child {
 public:
  explicit Child(std::size_t bytes) {
    int ready[2];
    if (::pipe(ready) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
      const char said = memory == MAP_FAILED ? 'n' : 'y';
      if (::write(ready[1], &said, 1) != 1) ::_exit(1);
      while (true) ::pause();
    }
    char said = 0;
    EXPECT_EQ(::read(ready[0], &said, 1), 1);
    EXPECT_EQ(said, 'y');
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~Child() { end(); }
  pid_t pid() const { return pid_; }
  void kill_without_reaping() const {
    ::kill(pid_, SIGKILL);
    siginfo_t info;
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
};

TEST(WorkerMemory, SeesWhatAProcessTouched) {
  const Child small(1 * MB), large(101 * MB);
  const auto one = WorkerMemory::open(small.pid()), other = WorkerMemory::open(large.pid());
  ASSERT_TRUE(one && other);
  EXPECT_NEAR(static_cast<double>(*other->rss_bytes() - *one->rss_bytes()), 100e6, 5e6);
  const auto light = one->rollup(), heavy = other->rollup();
  ASSERT_TRUE(light && heavy);
  EXPECT_NEAR(static_cast<double>(heavy->private_bytes - light->private_bytes), 100e6, 5e6);
  EXPECT_GE(heavy->rss_bytes, heavy->private_bytes);
}

TEST(WorkerMemory, OfAProcessThatIsGoneIsAnErrorAndNoZero) {
  Child child(1 * MB);
  const auto memory = WorkerMemory::open(child.pid());
  ASSERT_TRUE(memory);
  child.kill_without_reaping();  // a zombie has files, but no memory
  EXPECT_EQ(memory->rss_bytes().error().code, ESRCH);
  EXPECT_EQ(memory->rollup().error().code, ESRCH);
  const pid_t pid = child.pid();
  child.end();
  EXPECT_EQ(memory->rss_bytes().error().code, ESRCH);
  EXPECT_FALSE(memory->rollup());
  EXPECT_EQ(WorkerMemory::open(pid).error().code, ESRCH);
}

class RecordedProcess : public testing::Test {
 protected:
  RecordedProcess() { std::filesystem::create_directories(folder()); }
  ~RecordedProcess() override { std::filesystem::remove_all(root_); }
  std::filesystem::path folder() const { return root_ / "proc/77"; }
  void write(const char* file, const std::string& text) const { std::ofstream(folder() / file) << text; }
  Result<WorkerMemory> open() const { return WorkerMemory::open(77, root_.string()); }

 private:
  std::filesystem::path root_ =
      std::filesystem::path(testing::TempDir()) / ("worker_memory_test." + std::to_string(::getpid()));
};

TEST_F(RecordedProcess, ReadsTheSecondFieldInPages) {
  write("statm", "50000 1000 800 1 0 400 0\n");
  const auto memory = open();
  ASSERT_TRUE(memory);
  EXPECT_EQ(*memory->rss_bytes(), 1000u * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
}

TEST_F(RecordedProcess, ZerosMeanThatItIsGone) {
  write("statm", "0 0 0 0 0 0 0\n");
  EXPECT_EQ(open()->rss_bytes().error().code, ESRCH);
}

TEST_F(RecordedProcess, WhatIsNotAsExpectedIsNamed) {
  for (const char* text : {"", "x", "50000", "50000 x"}) {
    write("statm", text);
    const auto rss = open()->rss_bytes();
    ASSERT_FALSE(rss) << text;
    EXPECT_THAT(rss.error().message, HasSubstr("/proc/77/statm is not as expected"));
  }
  write("smaps_rollup", "Rss: 10 kB\nPrivate_Clean: 1 kB\n");
  EXPECT_THAT(open()->rollup().error().message, HasSubstr("smaps_rollup is not as expected"));
}

TEST_F(RecordedProcess, WhatIsPrivateIsCleanDirtyAndHuge) {
  write("statm", "1 1 1\n");
  write("smaps_rollup",
        "00-ff ---p 00000000 00:00 0 [rollup]\nRss: 900 kB\nPrivate_Clean: 36 kB\nPrivate_Dirty: 112 kB\n");
  EXPECT_EQ(open()->rollup()->private_bytes, 148u * 1024);
  EXPECT_EQ(open()->rollup()->rss_bytes, 900u * 1024);
  write("smaps_rollup", "Rss: 900 kB\nPrivate_Clean: 36 kB\nPrivate_Dirty: 112 kB\nPrivate_Hugetlb: 2048 kB\n");
  EXPECT_EQ(open()->rollup()->private_bytes, 2196u * 1024);
}

TEST(KernelText, FindsANumberByTheWholeOfItsKey) {
  const std::string_view text = "oom_kill_disable 0\nunder_oom 1\noom_kill 3\nMemTotal:   24 kB\nword\nlast x";
  EXPECT_EQ(number_of(text, "oom_kill"), 3u);
  EXPECT_EQ(number_of(text, "MemTotal:"), 24u);
  EXPECT_EQ(number_of(text, "oom"), std::nullopt);
  EXPECT_EQ(number_of(text, "word"), std::nullopt);
  EXPECT_EQ(number_of(text, "last"), std::nullopt);
  EXPECT_EQ(number_of("", "last"), std::nullopt);
}

TEST(KernelText, TakesDigitsOnly) {
  EXPECT_EQ(to_number("18446744073709551615\n"), 18446744073709551615u);
  for (const char* text : {"", "\n", "-1", "12x", "18446744073709551616", " 1"})
    EXPECT_EQ(to_number(text), std::nullopt);
}
}  // namespace
}  // namespace moult
