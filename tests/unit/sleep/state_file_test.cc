// Whether the app sleeps, on disk.
#include "master/sleep/state_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/event_loop.h"
namespace moult {
namespace {
namespace fs = std::filesystem;

class StateFileTest : public testing::Test {
 protected:
  StateFileTest() { fs::create_directory(folder()); }
  ~StateFileTest() override { fs::remove_all(folder_); }
  fs::path folder() const { return folder_ / "state"; }
  std::string path() const { return folder() / "app.idle"; }
  std::string text() const {
    std::ifstream file(path());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(const std::string& written) const { std::ofstream(path()) << written; }
  std::unique_ptr<StateFile> open() {
    return std::make_unique<StateFile>(loop.get(), path(), [this](const std::string& line) { said.push_back(line); });
  }
  void turn() { uv_run(loop.get(), UV_RUN_DEFAULT); }  // until nothing is being written

  EventLoop loop;
  std::vector<std::string> said;

 private:
  fs::path folder_ = [] {
    char name[] = "/tmp/moult-state-XXXXXX";
    return fs::path(::mkdtemp(name));
  }();
};

TEST_F(StateFileTest, IsBelievedAfterARestart) {
  const auto file = open();
  for (const IdleState state : {IdleState::stopping, IdleState::asleep}) {
    file->save(state);
    turn();
    EXPECT_EQ(text(), saved_text(state));
    EXPECT_EQ(read_state_file(path()), IdleState::asleep);
  }
  file->save(IdleState::active);
  turn();
  EXPECT_EQ(read_state_file(path()), IdleState::active);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder()), {}), 1) << "no other file is left";
}

TEST_F(StateFileTest, WritesTheLatestOfWhatCameWhileItWrote) {
  const auto file = open();
  for (const IdleState state : {IdleState::stopping, IdleState::asleep, IdleState::waking, IdleState::active})
    file->save(state);
  turn();
  EXPECT_EQ(text(), "active\n");
}

TEST_F(StateFileTest, WritesWhatIsDueBeforeItGoes) {
  auto file = open();
  file->save(IdleState::active);
  file->save(IdleState::asleep);
  file.reset();
  turn();
  EXPECT_EQ(text(), "asleep\n") << "and the thread that was slower writes nothing over it";
}

TEST_F(StateFileTest, MeansActiveWhereItSaysNothingThatWeWrote) {
  EXPECT_EQ(read_state_file(path()), IdleState::active) << "there is none";
  for (const std::string torn : {"", "asl", "asleep", "asleep\nasleep\n", "dozing\n"}) {
    put(torn);
    EXPECT_EQ(read_state_file(path()), IdleState::active) << torn;
  }
  put(std::string(100'000, 'x'));
  EXPECT_EQ(read_state_file(path()), IdleState::active);
  fs::remove(path());
  fs::create_directory(path());
  EXPECT_EQ(read_state_file(path()), IdleState::active) << "a folder";
}

TEST_F(StateFileTest, SaysOnceThatItCannotBeWrittenAndOnceThatItCanAgain) {
  const auto file = open();
  fs::rename(folder(), folder().string() + ".away");
  for (const IdleState state : {IdleState::stopping, IdleState::asleep, IdleState::waking}) {
    file->save(state);
    turn();
  }
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].find("--state-dir: cannot create " + path()), 0u) << said[0];
  fs::rename(folder().string() + ".away", folder());
  for (const IdleState state : {IdleState::active, IdleState::stopping}) {
    file->save(state);
    turn();
  }
  ASSERT_EQ(said.size(), 2u);
  EXPECT_NE(said[1].find("is written again"), std::string::npos);
  EXPECT_EQ(text(), "stopping\n");
}

TEST_F(StateFileTest, LeavesTheOldOneWholeOnAFullDisk) {
  put("asleep\n");
  fs::create_symlink("/dev/full", path() + ".new");  // refused as such: nobody writes through another's link
  const auto file = open();
  file->save(IdleState::active);
  turn();
  EXPECT_EQ(text(), "asleep\n");
  EXPECT_EQ(said.size(), 1u);
}
}  // namespace
}  // namespace moult
