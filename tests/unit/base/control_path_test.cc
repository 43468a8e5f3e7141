#include "base/control_path.h"

#include <gmock/gmock.h>
namespace moult {
namespace {
using testing::HasSubstr;

TEST(ControlPath, IsInTheRuntimeFolderWhereThereIsOne) {
  EXPECT_EQ(*control_path("web", {"/run/user/1000", 1000}), "/run/user/1000/moult/web.sock");
  EXPECT_EQ(*control_path("web", {"/run/user/0", 0}), "/run/user/0/moult/web.sock");
}

TEST(ControlPath, IsInRunForRootAndInAFolderOfTheUsersElsewhere) {
  EXPECT_EQ(*control_path("web", {"", 0}), "/run/moult/web.sock");
  EXPECT_EQ(*control_path("web", {"", 1000}), "/tmp/moult-1000/web.sock");
}

TEST(ControlPath, TakesNoNoticeOfARelativeRuntimeFolder) {
  EXPECT_EQ(*control_path("web", {"run", 1000}), "/tmp/moult-1000/web.sock");
}

TEST(ControlPath, RefusesANameThatIsNoFileName) {
  for (const char* name : {"", "a/b", "../web", ".web", ".."}) EXPECT_FALSE(control_path(name, {"", 0})) << name;
  EXPECT_THAT(control_path("a/b", {"", 0}).error().message, HasSubstr("--control PATH"));
}

TEST(ControlPath, FitsIntoASocketAddressOrIsRefused) {
  EXPECT_TRUE(checked_control_path("/" + std::string(longest_socket_path_bytes - 1, 'x')));
  const auto refused = checked_control_path("/" + std::string(longest_socket_path_bytes, 'x'));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("has 108 bytes and may have 107"));
  EXPECT_FALSE(checked_control_path(""));
  EXPECT_FALSE(control_path(std::string(200, 'n'), {"", 0}));
}
}  // namespace
}  // namespace moult
