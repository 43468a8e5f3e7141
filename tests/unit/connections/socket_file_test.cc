#include "master/connections/socket_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/wait.h>

#include <fstream>

#include "master/connections/listening_socket.h"
#include "tests/unit/connections/scratch.h"
namespace moult {
namespace {
using ::testing::HasSubstr;

Result<ListeningSocket> opened(const std::string& path, std::optional<mode_t> mode = {}) {
  return ListeningSocket::open(UnixAddress{path, mode}, SocketOptions{});
}
std::string refusal(const std::string& path) {
  const auto result = opened(path);
  return result ? "(opened)" : result.error().message;
}

TEST(SocketFile, HasTheModeThatWasAskedForWhateverTheUmask) {
  const Scratch scratch;
  const mode_t before = umask(0077);
  const auto asked = opened(scratch.file("asked"), 0660);
  const auto usual = opened(scratch.file("usual"));
  umask(before);
  ASSERT_TRUE(asked && usual);
  EXPECT_EQ(mode_of(scratch.file("asked")), 0660u);
  EXPECT_EQ(mode_of(scratch.file("usual")), 0666u);
}

TEST(SocketFile, IsGoneWithItsOwner) {
  const Scratch scratch;
  {
    const auto socket = opened(scratch.file("a"));
    ASSERT_TRUE(socket);
    EXPECT_EQ(call_unix(scratch.file("a")), 0);
  }
  EXPECT_TRUE(scratch.empty());
}

TEST(SocketFile, StaysIfAnotherHasTakenThePathMeanwhile) {
  const Scratch scratch;
  UniqueFd other;
  {
    const auto socket = opened(scratch.file("a"));
    ASSERT_TRUE(socket);
    unlink(scratch.file("a").c_str());
    other = bound_unix(scratch.file("a"));
  }
  EXPECT_EQ(call_unix(scratch.file("a")), 0) << "the other one still answers";
}

TEST(SocketFile, IsFoundAgainAfterTheWorkingDirectoryHasChanged) {
  const Scratch scratch;
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path(scratch.file("."));
  {
    const auto socket = opened("relative.sock");
    std::filesystem::current_path(before);
    ASSERT_TRUE(socket);
    EXPECT_EQ(socket->address(), "unix:relative.sock");
    EXPECT_FALSE(scratch.empty());
  }
  EXPECT_TRUE(scratch.empty());
}

TEST(SocketFile, ReplacesOneThatNobodyAnswersOn) {
  const Scratch scratch;
  bound_unix(scratch.file("stale")).reset();
  ASSERT_EQ(call_unix(scratch.file("stale")), ECONNREFUSED);
  const auto socket = opened(scratch.file("stale"));
  ASSERT_TRUE(socket) << socket.error().message;
  EXPECT_EQ(call_unix(scratch.file("stale")), 0);
}

TEST(SocketFile, RefusesAPathThatALiveRivalAnswersOnAndNamesIt) {
  const Scratch scratch;
  const auto rival = opened(scratch.file("a"));
  ASSERT_TRUE(rival);
  EXPECT_THAT(refusal(scratch.file("a")), HasSubstr("this moult itself answers there"));
  EXPECT_EQ(call_unix(scratch.file("a")), 0) << "the rival is unharmed";
}

TEST(SocketFile, RefusesALiveRivalWhoseBacklogIsFull) {
  const Scratch scratch;
  const UniqueFd rival = bound_unix(scratch.file("a"), SOCK_STREAM, 0);
  const UniqueFd waiting(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = unix_address(scratch.file("a"));
  ASSERT_EQ(connect(waiting.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_THAT(refusal(scratch.file("a")), HasSubstr("answers there"));
}

TEST(SocketFile, RefusesAPathThatIsNoSocketAndLeavesItAlone) {
  const Scratch scratch;
  std::ofstream(scratch.file("text")) << "precious";
  EXPECT_THAT(refusal(scratch.file("text")), HasSubstr("it is no socket"));
  std::filesystem::create_symlink(scratch.file("elsewhere"), scratch.file("link"));
  EXPECT_THAT(refusal(scratch.file("link")), HasSubstr("it is no socket"));
  EXPECT_EQ(std::filesystem::file_size(scratch.file("text")), 8u);
}

TEST(SocketFile, RefusesAPathOnWhichADatagramSocketLives) {
  const Scratch scratch;
  const UniqueFd datagram = bound_unix(scratch.file("a"), SOCK_DGRAM);
  EXPECT_THAT(refusal(scratch.file("a")), HasSubstr("cannot see whether somebody answers there"));
}

TEST(SocketFile, SaysWhichFolderIsMissing) {
  const Scratch scratch;
  EXPECT_THAT(refusal(scratch.file("no/such.sock")), HasSubstr("cannot open the folder " + scratch.file("no")));
}

TEST(SocketFile, GoesToExactlyOneOfManyThatStartInTheSameMoment) {
  const Scratch scratch;
  constexpr int rivals = 8, rounds = 10;
  for (int round = 0; round < rounds; ++round) {
    const std::string path = scratch.file("contended");
    if (round % 2 == 1) bound_unix(path).reset();  // a stale one lies there
    int start[2], done[2];
    ASSERT_TRUE(pipe(start) == 0 && pipe(done) == 0);
    pid_t pids[rivals];
    for (pid_t& pid : pids) {
      if ((pid = fork()) != 0) continue;
      close(start[1]), close(done[1]);
      char byte;
      (void)!read(start[0], &byte, 1);  // EOF: go
      const auto socket = opened(path);
      // A winner stays until all have tried, and leaves by _exit: its file is what a killed master leaves.
      if (socket) (void)!read(done[0], &byte, 1);
      _exit(socket ? 1 : 0);
    }
    close(start[0]), close(start[1]), close(done[0]);
    int winners = 0, losers = 0, status = 0;
    for (; losers < rivals - 1; ++losers) {
      const pid_t gone = waitpid(-1, &status, 0);
      ASSERT_GT(gone, 0);
      if (WEXITSTATUS(status) == 1) ++winners;
    }
    EXPECT_EQ(winners, 0) << "nobody has won and left before the others had tried";
    EXPECT_EQ(call_unix(path), 0) << "one listens";
    close(done[1]);
    ASSERT_GT(waitpid(-1, &status, 0), 0);
    EXPECT_EQ(WEXITSTATUS(status), 1);
    std::filesystem::remove(path);
  }
}

TEST(FolderLock, ExcludesASecondHolderUntilTheFirstHasGone) {
  const Scratch scratch;
  const UniqueFd other(open(scratch.file(".").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  {
    const auto lock = FolderLock::of(scratch.file("any"));
    ASSERT_TRUE(lock);
    EXPECT_EQ(flock(other.get(), LOCK_EX | LOCK_NB), -1);
  }
  EXPECT_EQ(flock(other.get(), LOCK_EX | LOCK_NB), 0);
}
}  // namespace
}  // namespace moult
