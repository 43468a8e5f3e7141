#include "master/control/control_socket.h"

#include <gmock/gmock.h>
#include <sys/file.h>

#include <fcntl.h>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/unit/control/loop_fixture.h"
namespace moult::test {
namespace {
using testing::HasSubstr;

struct stat look(const std::string& path) {
  struct stat seen {};
  EXPECT_EQ(::lstat(path.c_str(), &seen), 0) << path;
  return seen;
}

// A socket file whose owner died without removing it.
void leave_stale_socket(const std::string& path) {
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
}

TEST(ControlSocket, BelongsToItsUserAloneWhateverTheUmask) {
  const Folder folder;
  for (const mode_t mask : {0000, 0022, 0777}) {
    const mode_t before = ::umask(mask);
    const auto socket = ControlSocket::open(folder / "moult.sock");
    ::umask(before);
    ASSERT_TRUE(socket) << socket.error().message;
    EXPECT_EQ(look(folder / "moult.sock").st_mode & 07777, mode_t{0600} & ~mask);
  }
}

TEST(ControlSocket, MakesItsFolderForItsUserAlone) {
  const Folder folder;
  const auto socket = ControlSocket::open(folder / "moult/web.sock");
  ASSERT_TRUE(socket) << socket.error().message;
  EXPECT_EQ(look(folder / "moult").st_mode & 07777, 0700u);
  const auto deep = ControlSocket::open(folder / "a/b/web.sock");
  ASSERT_FALSE(deep);
  EXPECT_THAT(deep.error().message, HasSubstr("cannot make the folder of the control socket"));
}

TEST(ControlSocket, IsRemovedAtTheEnd) {
  const Folder folder;
  { ASSERT_TRUE(ControlSocket::open(folder / "moult.sock")); }
  EXPECT_FALSE(std::filesystem::exists(folder / "moult.sock"));
}

TEST(ControlSocket, LeavesWhatIsNotItsOwnInItsPlace) {
  const Folder folder;
  {
    auto first = ControlSocket::open(folder / "moult.sock");
    ASSERT_TRUE(first);
    std::filesystem::remove(folder / "moult.sock");
    std::ofstream(folder / "moult.sock") << "somebody else's";
  }
  EXPECT_TRUE(std::filesystem::is_regular_file(folder / "moult.sock"));
}

TEST(ControlSocket, ReplacesAStaleOne) {
  const Folder folder;
  leave_stale_socket(folder / "moult.sock");
  const auto socket = ControlSocket::open(folder / "moult.sock");
  ASSERT_TRUE(socket) << socket.error().message;
  EXPECT_TRUE(RawClient(folder / "moult.sock").connected());
}

TEST(ControlSocket, RefusesALiveRivalWhichServesOn) {
  const Folder folder;
  const auto first = ControlSocket::open(folder / "moult.sock");
  ASSERT_TRUE(first);
  {
    const auto second = ControlSocket::open(folder / "moult.sock");
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().message, HasSubstr("another moult answers at " + folder.path()));
  }
  EXPECT_TRUE(RawClient(folder / "moult.sock").connected());
}

TEST(ControlSocket, RefusesARivalWhoseBacklogIsFull) {
  const Folder folder;
  const auto first = ControlSocket::open(folder / "moult.sock");
  ASSERT_TRUE(first);
  std::vector<RawClient> waiting;
  for (int i = 0; i < 2 * control_backlog; ++i) waiting.emplace_back(folder / "moult.sock");
  ASSERT_FALSE(waiting.back().connected());
  const auto second = ControlSocket::open(folder / "moult.sock");
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("another moult answers"));
}

TEST(ControlSocket, RemovesNoFileThatIsNoSocket) {
  const Folder folder;
  std::ofstream(folder / "moult.sock") << "precious";
  const auto socket = ControlSocket::open(folder / "moult.sock");
  ASSERT_FALSE(socket);
  EXPECT_THAT(socket.error().message, HasSubstr("is no socket"));
  EXPECT_EQ(std::filesystem::file_size(folder / "moult.sock"), 8u);
}

TEST(ControlSocket, IsWonByOneOfManyThatStartAtOnceOverAStaleOne) {
  const Folder folder;
  leave_stale_socket(folder / "moult.sock");
  std::vector<std::thread> masters;
  std::vector<std::unique_ptr<ControlSocket>> won(8);
  for (auto& mine : won)
    masters.emplace_back([&] {
      if (auto socket = ControlSocket::open(folder / "moult.sock"))
        mine = std::make_unique<ControlSocket>(*std::move(socket));
    });
  for (std::thread& master : masters) master.join();
  EXPECT_EQ(std::count_if(won.begin(), won.end(), [](const auto& socket) { return socket != nullptr; }), 1);
  EXPECT_TRUE(RawClient(folder / "moult.sock").connected());
}

TEST(ControlSocket, RefusesAFolderOfSomebodyElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  const Folder folder;
  std::filesystem::create_directory(folder / "theirs");
  ASSERT_EQ(::chown((folder / "theirs").c_str(), 65534, 65534), 0);
  const auto socket = ControlSocket::open(folder / "theirs/moult.sock");
  ASSERT_FALSE(socket);
  EXPECT_THAT(socket.error().message, HasSubstr("belongs to uid 65534"));
}

TEST(ControlSocket, DoesNotWaitForeverForALockOnTheFolder) {
  const Folder folder;
  const UniqueFd held(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY));
  ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);
  const auto socket = ControlSocket::open(folder / "moult.sock");
  ASSERT_FALSE(socket);
  EXPECT_THAT(socket.error().message, HasSubstr("another process holds a lock"));
}
}  // namespace
}  // namespace moult::test
