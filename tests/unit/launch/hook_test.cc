// A command of the user's, run when something happens.
#include "master/launch/hook.h"

#include <gmock/gmock.h>

#include "tests/unit/launch/launch_loop.h"
namespace moult {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class HookTest : public LaunchLoop {
 protected:
  std::unique_ptr<Hook> hook(const std::string& command, Duration at_most = std::chrono::seconds(30)) {
    return std::make_unique<Hook>(&loop, *orphans,
                                  HookOptions{.flag = "--on-alarm",
                                              .command = command,
                                              .child = {.environment = test_environment()},
                                              .trouble = [this](const std::string& line) { said.push_back(line); },
                                              .runs_at_most = at_most});
  }
  const TemporaryFolder folder;
  const std::string out = folder.file("out");
  std::vector<std::string> said;
};

TEST_F(HookTest, RunsTheCommandWithTheEventInItsEnvironment) {
  const auto alarm = hook("printf %s \"$MOULT_EVENT\" > " + out + ".new; mv " + out + ".new " + out);
  alarm->run("{\"event\":\"alarm_firing\"}\n");
  ASSERT_TRUE(run_until([&] { return !text_of(out).empty(); }));
  EXPECT_EQ(text_of(out), "{\"event\":\"alarm_firing\"}");
  EXPECT_THAT(said, IsEmpty());
}

TEST_F(HookTest, RunsOneAtATimeAndOfWhatCameMeanwhileTheLatest) {
  const auto alarm = hook("while [ ! -e " + folder.file("go") + " ]; do sleep 0.01; done; echo $MOULT_EVENT >> " + out);
  for (const char* event : {"first", "second", "third"}) alarm->run(event);
  write_text(folder.file("go"), "");
  ASSERT_TRUE(run_until([&] { return text_of(out) == "first\nthird\n"; })) << text_of(out);
}

TEST_F(HookTest, SaysThatItFailed) {
  const auto alarm = hook("exit 3");
  alarm->run("x");
  ASSERT_TRUE(run_until([&] { return !said.empty(); }));
  EXPECT_THAT(said, ElementsAre("--on-alarm failed: exited with status 3"));
}

TEST_F(HookTest, KillsOneThatTakesTooLong) {
  const auto alarm = hook("sleep 1000", std::chrono::milliseconds(50));
  alarm->run("x");
  ASSERT_TRUE(run_until([&] { return said.size() == 2; }));
  EXPECT_THAT(said, ElementsAre("--on-alarm is killed: it takes too long", HasSubstr("killed by SIGKILL")));
}

TEST_F(HookTest, WithoutACommandNothingIsRun) {
  Hook none(&loop, *orphans,
            {.flag = "--on-alarm", .trouble = [this](const std::string& line) { said.push_back(line); }});
  none.run("x");
  run_for(std::chrono::milliseconds(20));
  EXPECT_THAT(said, IsEmpty());
}
}  // namespace
}  // namespace moult
