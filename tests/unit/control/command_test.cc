#include "master/control/command.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
namespace moult {
namespace {
using nlohmann::json;
using testing::HasSubstr;

std::string error_of(const char* frame) {
  const auto command = parse_command(json::parse(frame));
  return command ? "none" : command.error().message;
}

TEST(Command, IsReadBackAsItWasWritten) {
  const Command commands[] = {StatusCommand{},           VersionCommand{}, ScaleCommand{7}, StopCommand{false, true},
                              StopCommand{true, false},  StopCommand{},    ReloadCommand{}, ReloadCommand{true},
                              RunCallCommand{"nightly"}, SleepCommand{},   WakeCommand{}};
  for (const Command& command : commands) {
    const json written = command_json(command);
    const auto read = parse_command(written);
    ASSERT_TRUE(read) << written;
    EXPECT_EQ(read->index(), command.index());
    EXPECT_EQ(command_json(*read), written);
  }
}

TEST(Command, MayLeaveItsFlagsOut) {
  const auto stop = parse_command(json::parse(R"({"protocol":1,"command":"stop"})"));
  ASSERT_TRUE(stop);
  EXPECT_FALSE(std::get<StopCommand>(*stop).quickly);
  EXPECT_FALSE(std::get<StopCommand>(*stop).wait);
}

TEST(Command, ThatIsUnknownIsRefusedWithTheListOfThoseThatAreKnown) {
  EXPECT_THAT(error_of(R"({"command":"restart"})"), HasSubstr("no command 'restart' (commands: status, version,"));
  EXPECT_THAT(error_of(R"({"command":7})"), HasSubstr("needs 'command', a string"));
  EXPECT_THAT(error_of(R"({})"), HasSubstr("needs 'command', a string"));
}

TEST(Command, RefusesAKeyItDoesNotKnowRatherThanHalfObey) {
  EXPECT_THAT(error_of(R"({"command":"reload","wait":true,"slowly":true})"),
              HasSubstr("reload does not take 'slowly'"));
  EXPECT_THAT(error_of(R"({"command":"status","workers":3})"), HasSubstr("status does not take 'workers'"));
}

TEST(Command, RefusesWrongTypes) {
  for (const char* frame : {R"({"command":"scale"})", R"({"command":"scale","workers":-1})",
                            R"({"command":"scale","workers":"3"})", R"({"command":"scale","workers":3.0})",
                            R"({"command":"scale","workers":4294967296})", R"({"command":"scale","workers":null})"})
    EXPECT_THAT(error_of(frame), HasSubstr("scale needs 'workers', a whole number")) << frame;
  EXPECT_THAT(error_of(R"({"command":"stop","quickly":1})"), HasSubstr("'quickly' must be true or false"));
  EXPECT_THAT(error_of(R"({"command":"reload","wait":"yes"})"), HasSubstr("'wait' must be true or false"));
}
}  // namespace
}  // namespace moult
