#include "master/report/line_writer.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <future>
#include <mutex>

#include "tests/unit/report/testing.h"
namespace moult {
namespace {
using testing::contents;
using testing::eventually;
using testing::generous;
using testing::lines_of;
using testing::Pipe;
using testing::TempDir;
using Clock = std::chrono::steady_clock;

LineWriterOptions saying_dropped(Duration flush = std::chrono::seconds(1)) {
  return {.say_dropped = [](std::uint64_t count) { return "dropped " + std::to_string(count) + "\n"; },
          .flush_at_exit = flush};
}
std::unique_ptr<LineWriter> start(Output output, LineWriterOptions options = saying_dropped()) {
  auto writer = LineWriter::start(std::move(output), std::move(options));
  EXPECT_TRUE(writer);
  return std::move(*writer);
}

TEST(LineWriter, WritesLinesInOrderBeforeItEnds) {
  Pipe pipe;
  {
    const auto writer = start(Output::duplicate_of(pipe.writes.get()));
    for (int i = 0; i < 100; ++i) writer->write(std::to_string(i) + "\n");
  }
  const auto lines = lines_of(pipe.drain());
  ASSERT_EQ(lines.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(lines[static_cast<std::size_t>(i)], std::to_string(i));
}

TEST(LineWriter, NeverWaitsForAPipeThatNobodyReadsNorDoesItsEnd) {
  Pipe pipe;
  const auto begin = Clock::now();
  {
    const auto writer = start(Output::duplicate_of(pipe.writes.get()), saying_dropped(std::chrono::milliseconds(50)));
    for (int i = 0; i < 100'000; ++i) writer->write(std::string(99, 'x') + "\n");
    EXPECT_GT(writer->dropped(), 0u);
  }
  EXPECT_LT(Clock::now() - begin, generous);
}

TEST(LineWriter, SaysHowManyLinesItDroppedWhenThePipeIsReadAgain) {
  Pipe pipe;
  auto writer = start(Output::duplicate_of(pipe.writes.get()), saying_dropped(generous));
  for (int i = 0; i < 100'000; ++i) writer->write("a line of twenty chars\n");
  const std::uint64_t dropped = writer->dropped();
  ASSERT_GT(dropped, 0u);
  auto all = std::async(std::launch::async, [&] { return pipe.drain(); });
  writer.reset();
  std::uint64_t written = 0, said = 0;
  for (const std::string& line : lines_of(all.get())) {
    if (line.starts_with("dropped ")) said += std::stoull(line.substr(8));
    else ++written;
  }
  EXPECT_EQ(said, dropped);
  EXPECT_EQ(written + dropped, 100'000u);
}

TEST(LineWriter, LeavesAThreadBehindThatWaitsInWrite) {
  // An eventfd adds up what is written. poll() says of this one that it can be written to, yet the number that a line
  // of eight bytes is would overflow it: so write() waits until it is read.
  const UniqueFd stuck(::eventfd(0, EFD_CLOEXEC));
  ASSERT_EQ(::eventfd_write(stuck.get(), ~eventfd_t{0} - 15), 0);
  const auto begin = Clock::now();
  {
    const auto writer = start(Output::duplicate_of(stuck.get()), saying_dropped(std::chrono::milliseconds(500)));
    writer->write("AAAAAAA\n");
  }
  EXPECT_LT(Clock::now() - begin, generous);
  eventfd_t read = 0;
  ASSERT_EQ(::eventfd_read(stuck.get(), &read), 0);  // lets the thread go on, and end
  pollfd has_a_value{stuck.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&has_a_value, 1, 30'000), 1);
}

TEST(LineWriter, CountsWhatAFullDeviceRefuses) {
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  const auto writer = start(Output::duplicate_of(full.get()));
  for (int i = 0; i < 10; ++i) writer->write("line\n");
  EXPECT_TRUE(eventually([&] { return writer->dropped() == 10; }));
}

TEST(LineWriter, CountsWhatAClosedDescriptorRefusesAndNeverWritesToALaterOneOfThatNumber) {
  constexpr int number = 200;  // nobody else's here
  auto writer = start(Output::duplicate_of(number));
  Pipe later;
  ASSERT_EQ(::dup2(later.writes.get(), number), number);
  writer->write("line\n");
  EXPECT_TRUE(eventually([&] { return writer->dropped() == 1; }));
  writer.reset();
  ::close(number);
  EXPECT_EQ(later.drain(), "");
}

TEST(LineWriter, SurvivesAReaderThatIsGone) {
  Pipe pipe;
  pipe.reads.reset();
  ASSERT_NE(::signal(SIGPIPE, SIG_DFL), SIG_ERR);
  const auto writer = start(Output::duplicate_of(pipe.writes.get()));
  writer->write("line\n");
  EXPECT_TRUE(eventually([&] { return writer->dropped() == 1; }));
}

TEST(LineWriter, LosesNothingWhenAnotherProcessMadeThePipeNonBlocking) {
  Pipe pipe;
  ASSERT_EQ(::fcntl(pipe.writes.get(), F_SETFL, O_NONBLOCK), 0);
  auto writer = start(Output::duplicate_of(pipe.writes.get()), saying_dropped(generous));
  for (int i = 0; i < 100; ++i) writer->write(std::string(9'999, 'x') + "\n");
  auto all = std::async(std::launch::async, [&] { return pipe.drain(); });
  writer.reset();
  EXPECT_EQ(all.get().size(), 1'000'000u);
}

TEST(LineWriter, NeverMakesTheSharedDescriptionNonBlocking) {
  Pipe pipe;
  const auto writer = start(Output::duplicate_of(pipe.writes.get()));
  EXPECT_EQ(::fcntl(pipe.writes.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST(LineWriter, WritesToTheNewFileAfterRotationAndLosesNothing) {
  const TempDir dir;
  const std::string path = dir / "log";
  auto file = Output::file(path);
  ASSERT_TRUE(file);
  auto writer = start(std::move(*file));
  for (int turn = 0; turn < 5; ++turn) {
    for (int i = 0; i < 200; ++i) writer->write("turn " + std::to_string(turn) + "\n");
    std::filesystem::rename(path, path + std::to_string(turn));
    writer->reopen();
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(path); }));
  }
  writer->write("last\n");
  writer.reset();
  std::size_t lines = 0;
  for (int turn = 0; turn < 5; ++turn) lines += lines_of(contents(path + std::to_string(turn))).size();
  const auto newest = lines_of(contents(path));
  EXPECT_EQ(newest.back(), "last");
  EXPECT_EQ(lines + newest.size(), 1001u);
}

TEST(LineWriter, KeepsTheOldFileWhenTheNewOneCannotBeOpenedAndSaysSoOnce) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "sub");
  auto file = Output::file(dir / "sub/log");
  ASSERT_TRUE(file);
  std::mutex mutex;
  std::vector<std::string> troubles;
  LineWriterOptions options = saying_dropped();
  options.not_reopened = [&](const std::string& what) {
    const std::lock_guard lock(mutex);
    troubles.push_back(what);
  };
  auto writer = start(std::move(*file), options);
  std::filesystem::rename(dir / "sub", dir / "moved");
  writer->reopen();
  const auto told = [&] {
    const std::lock_guard lock(mutex);
    return troubles.size() == 1;
  };
  EXPECT_TRUE(eventually(told));
  EXPECT_EQ(troubles.at(0), "cannot open " + dir / "sub/log" + " for writing: No such file or directory");
  writer->write("still here\n");
  writer.reset();
  EXPECT_EQ(contents(dir / "moved/log"), "still here\n");
}

// The file may be 100 bytes long: as a full disk, but that it can be mended here.
class SizeLimit {
 public:
  SizeLimit() {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{100, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_;
};

TEST(LineWriter, FinishesTheLineThatAFullDiskCutOnceThereIsRoomAgain) {
  const TempDir dir;
  auto file = Output::file(dir / "log");
  ASSERT_TRUE(file);
  auto writer = start(std::move(*file));
  {
    const SizeLimit limit;
    for (int i = 0; i < 3; ++i) writer->write(std::string(59, static_cast<char>('a' + i)) + "\n");
    ASSERT_TRUE(eventually([&] { return writer->dropped() == 1; }));
  }
  writer->write("there is room again\n");
  writer.reset();
  const auto lines = lines_of(contents(dir / "log"));
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], std::string(59, 'a'));
  EXPECT_EQ(lines[1], std::string(59, 'b'));
  EXPECT_EQ(lines[2], "there is room again");
  EXPECT_EQ(lines[3], "dropped 1");
}

TEST(LineWriter, MakesAFileAnewThatWasDeletedUnderIt) {
  const TempDir dir;
  auto file = Output::file(dir / "log");
  ASSERT_TRUE(file);
  auto writer = start(std::move(*file));
  writer->write("into the old one\n");
  ASSERT_TRUE(eventually([&] { return contents(dir / "log") == "into the old one\n"; }));
  std::filesystem::remove(dir / "log");
  writer->write("into the new one\n");
  writer.reset();
  EXPECT_EQ(contents(dir / "log"), "into the new one\n");
}

TEST(LineWriter, BeginsAtTheFrontOfAFileThatWasCutUnderIt) {
  const TempDir dir;
  auto file = Output::file(dir / "log");
  ASSERT_TRUE(file);
  auto writer = start(std::move(*file));
  writer->write("before\n");
  ASSERT_TRUE(eventually([&] { return contents(dir / "log") == "before\n"; }));
  ASSERT_EQ(::truncate((dir / "log").c_str(), 0), 0);
  writer->write("after\n");
  writer.reset();
  EXPECT_EQ(contents(dir / "log"), "after\n");
}

TEST(LineWriter, CountsWhatADeletedFolderLoses) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "sub");
  auto file = Output::file(dir / "sub/log");
  ASSERT_TRUE(file);
  auto writer = start(std::move(*file));
  std::filesystem::remove_all(dir / "sub");
  writer->write("lost\n");
  EXPECT_TRUE(eventually([&] { return writer->dropped() == 1; }));
  std::filesystem::create_directory(dir / "sub");
  writer->write("kept\n");
  writer.reset();
  EXPECT_EQ(contents(dir / "sub/log"), "kept\ndropped 1\n");
}

TEST(LineWriter, IsBoundedInBytesToo) {
  Pipe pipe;
  const auto writer = start(Output::duplicate_of(pipe.writes.get()), saying_dropped(std::chrono::milliseconds(1)));
  for (int i = 0; i < 20; ++i) writer->write(std::string(queued_bytes_most / 4, 'x'));
  EXPECT_GE(writer->dropped(), 15u);  // four wait, one may be in the writer's hand
}

TEST(Output, NamesTheFileThatCannotBeOpened) {
  const auto file = Output::file("/nowhere/at/all");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message, "cannot open /nowhere/at/all for writing: No such file or directory");
}

TEST(Output, DoesNotWaitForTheReaderOfAFifo) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  EXPECT_FALSE(Output::file(dir / "fifo"));
}
}  // namespace
}  // namespace moult
