#include "master/launch/environment.h"

#include <gmock/gmock.h>
namespace moult {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(ChildEnvironment, LeavesOutWhatWasMeantForMoult) {
  const char* const parent[] = {
      "PATH=/bin",       "MOULT_BIND=:80", "NOTIFY_SOCKET=/run/n", "LISTEN_FDS=1",   "LISTEN_PID=1", "LISTEN_FDNAMES=",
      "WATCHDOG_USEC=1", "WATCHDOG_PID=1", "NOTIFY_SOCKETS=",      "no equals sign", nullptr};
  EXPECT_THAT(child_environment(parent, {}), ElementsAre("NOTIFY_SOCKETS=", "PATH=/bin"));
}

TEST(ChildEnvironment, LetsTheLaterEntryCountAlsoIfItIsNamedLikeOurs) {
  const char* const parent[] = {"A=parent", "B=parent", nullptr};
  EXPECT_THAT(child_environment(parent, {{"A", "file"}, {"A", "flag"}, {"MOULT_X", "wanted"}}),
              ElementsAre("A=flag", "B=parent", "MOULT_X=wanted"));
}

TEST(EnvironmentFile, ReadsCommentsQuotesAndExports) {
  const auto entries =
      parse_environment_file("# comment\n\nA=1\r\nexport B='two words'\nC=\"x=y\" \n D = z\nE=\nF=a#b");
  ASSERT_TRUE(entries) << entries.error().message;
  EXPECT_THAT(*entries, ElementsAre(Pair("A", "1"), Pair("B", "two words"), Pair("C", "x=y"), Pair("D", "z"),
                                    Pair("E", ""), Pair("F", "a#b")));
}

TEST(EnvironmentFile, NamesTheLineThatIsWrong) {
  const auto entries = parse_environment_file("A=1\n\nnonsense\n");
  ASSERT_FALSE(entries);
  EXPECT_EQ("line 3: \"nonsense\" is no KEY=VALUE for the environment", entries.error().message);
  EXPECT_FALSE(parse_environment_file("=1"));
  EXPECT_FALSE(parse_environment_file("A B=1"));
}

TEST(EnvironmentFile, NamesTheFileThatCannotBeRead) {
  const auto entries = read_environment_file("/nowhere/env");
  ASSERT_FALSE(entries);
  EXPECT_EQ("cannot read the environment file /nowhere/env: No such file or directory", entries.error().message);
  EXPECT_FALSE(read_environment_file("/tmp")) << "a folder";
}
}  // namespace
}  // namespace moult
