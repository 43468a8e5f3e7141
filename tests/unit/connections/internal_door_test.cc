#include "master/connections/internal_door.h"

#include <gmock/gmock.h>

#include "tests/unit/connections/scratch.h"
namespace moult {
namespace {
TEST(InternalDoor, IsReachedThroughItsPathAndLeavesNoFile) {
  const Scratch scratch;
  auto door = InternalDoor::open(scratch.file("."));
  ASSERT_TRUE(door) << door.error().message;
  EXPECT_TRUE(scratch.empty()) << "file and folder are gone already";
  const UniqueFd caller(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = unix_address(door->path());
  ASSERT_EQ(connect(caller.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const UniqueFd accepted(accept(door->fd(), nullptr, nullptr));
  EXPECT_TRUE(accepted) << std::strerror(errno);
}

TEST(InternalDoor, AnswersNobodyAfterItIsClosed) {
  const Scratch scratch;
  auto door = InternalDoor::open(scratch.file("."));
  ASSERT_TRUE(door);
  door->close();
  EXPECT_EQ(call_unix(door->path()), ECONNREFUSED);
}

TEST(InternalDoor, IsClosedToOtherUsers) {
  const Scratch scratch;
  auto door = InternalDoor::open(scratch.file("."));
  ASSERT_TRUE(door);
  struct stat found {};
  ASSERT_EQ(stat(door->path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0600u);
  EXPECT_EQ(found.st_nlink, 0u);
}

TEST(InternalDoor, IsMadeElsewhereIfTheFolderCannotBeWrittenIn) {
  const auto door = InternalDoor::open("/proc/no-such-folder");
  EXPECT_TRUE(door) << door.error().message;
}
}  // namespace
}  // namespace moult
