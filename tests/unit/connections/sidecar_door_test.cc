// The sidecar's door: a polite no while the app sleeps, and nothing of the master's while it is awake.
#include "master/connections/sidecar_door.h"

#include <gmock/gmock.h>

#include "tests/unit/connections/caller.h"
#include "tests/unit/connections/client_pair.h"
namespace moult {
namespace {
using testing::StartsWith;

class SidecarDoorTest : public testing::Test {
 protected:
  bool hears(Caller& caller) {
    return loop.run_until([&] { return caller.ended(); });
  }
  // As a worker does.
  bool can_be_accepted() { return UniqueFd(::accept4(door.fd.get(), nullptr, nullptr, SOCK_CLOEXEC)).get() >= 0; }

  TestLoop loop;
  PublicDoor door = PublicDoor::tcp();
  SidecarDoor sidecar_door{loop.get(), door.fd.get()};
};

TEST_F(SidecarDoorTest, RefusesWhoWaitsAndWhoComesWhileTheAppSleeps) {
  Caller waits(door);
  waits.say("GET /metrics HTTP/1.1\r\n\r\n");
  sidecar_door.refuse(true);
  Caller comes(door);
  for (Caller* each : {&waits, &comes}) {
    ASSERT_TRUE(hears(*each));
    EXPECT_THAT(each->heard(), StartsWith("HTTP/1.1 503 "));
    EXPECT_THAT(each->heard(), testing::HasSubstr("\r\nRetry-After: 1\r\n"));
    EXPECT_FALSE(each->was_reset);
  }
}

TEST_F(SidecarDoorTest, LeavesEverybodyToTheWorkersWhileItIsAwake) {
  Caller first(door);
  uv_run(loop.get(), UV_RUN_NOWAIT);
  EXPECT_TRUE(can_be_accepted());
  sidecar_door.refuse(true);
  sidecar_door.refuse(false);
  Caller second(door);
  uv_run(loop.get(), UV_RUN_NOWAIT);
  EXPECT_TRUE(can_be_accepted());
}

TEST_F(SidecarDoorTest, RefusesForTheLastTimeWhenItIsClosed) {
  Caller waits(door);
  sidecar_door.close();
  ASSERT_TRUE(hears(waits));
  EXPECT_THAT(waits.heard(), StartsWith("HTTP/1.1 503 "));
  sidecar_door.refuse(true);
  Caller late(door);
  uv_run(loop.get(), UV_RUN_NOWAIT);
  EXPECT_TRUE(can_be_accepted()) << "it is nobody's business any more";
}

TEST(SidecarDoor, ThatIsNoneHasNothingToDo) {
  TestLoop loop;
  SidecarDoor none(loop.get(), -1);
  none.refuse(true);
  none.close();
}
}  // namespace
}  // namespace moult
