#include "master/launch/environment.h"

#include <gmock/gmock.h>
namespace moult {
namespace {
using testing::ElementsAre;

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

}  // namespace
}  // namespace moult
