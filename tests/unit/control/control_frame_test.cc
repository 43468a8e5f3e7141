#include "master/control/control_frame.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
namespace moult {
namespace {
using nlohmann::json;
using testing::HasSubstr;

const std::string status_frame = "{\"protocol\":1,\"command\":\"status\"}\n";

std::string error_of(const std::string& bytes, std::size_t longest = longest_command_bytes) {
  ControlFrames frames(longest);
  frames.feed(bytes);
  const auto frame = frames.next();
  if (!frame) return "nothing";
  return *frame ? "none" : frame->error().message;
}

TEST(ControlFrame, IsWholeWhenItsLineHasEndedHoweverItWasSplit) {
  for (std::size_t cut = 0; cut <= status_frame.size(); ++cut) {
    ControlFrames frames(longest_command_bytes);
    frames.feed(status_frame.substr(0, cut));
    if (cut < status_frame.size()) { EXPECT_FALSE(frames.next()); }
    frames.feed(status_frame.substr(cut));
    const auto frame = frames.next();
    ASSERT_TRUE(frame && *frame) << cut;
    EXPECT_EQ((**frame)["command"], "status");
    EXPECT_FALSE(frames.next());
  }
}

TEST(ControlFrame, ComesOutInOrderWhenSeveralCameAtOnce) {
  ControlFrames frames(longest_command_bytes);
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += frame_of({{"protocol", 1}, {"number", i}});
  frames.feed(bytes + "{\"proto");
  for (int i = 0; i < 100; ++i) {
    const auto frame = frames.next();
    ASSERT_TRUE(frame && *frame);
    EXPECT_EQ((**frame)["number"], i);
    if (i == 50) frames.feed("col\":1}");  // between two that are taken out
  }
  EXPECT_FALSE(frames.next());
  frames.feed("\n");
  EXPECT_TRUE(*frames.next());
}

TEST(ControlFrame, MayBeExactlyAsLongAsItMayBe) {
  const std::string empty = R"({"protocol":1,"x":""})";
  const std::string longest = R"({"protocol":1,"x":")" + std::string(longest_command_bytes - empty.size(), 'x') + "\"}";
  ASSERT_EQ(longest.size(), longest_command_bytes);
  EXPECT_EQ(error_of(longest + "\n"), "none");
  EXPECT_EQ(error_of(longest), "nothing");
  EXPECT_THAT(error_of(longest + " \n"), HasSubstr("longer than the 65536 bytes"));
  EXPECT_THAT(error_of(longest + " "), HasSubstr("longer than the 65536 bytes"));
}

TEST(ControlFrame, IsMeasuredByItselfAndNotWithThoseBeforeIt) {
  ControlFrames frames(status_frame.size());
  frames.feed(status_frame + status_frame + status_frame);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(*frames.next());
}

TEST(ControlFrame, RefusesWhatIsNoJsonObjectWithOneClearError) {
  EXPECT_THAT(error_of("GET / HTTP/1.1\r\n"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of("\n"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of(std::string("\0\xff\xfe\n", 4)), HasSubstr("not JSON"));
  EXPECT_THAT(error_of("{\"protocol\":1,\"x\":\"\xff\"}\n"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of("[1]\n"), HasSubstr("not array"));
  EXPECT_THAT(error_of("\"status\"\n"), HasSubstr("not string"));
  EXPECT_THAT(error_of(std::string(30000, '[') + "\n"), HasSubstr("not JSON"));
}

TEST(ControlFrame, RefusesAnotherProtocolVersionByNumber) {
  EXPECT_THAT(error_of("{\"protocol\":2}\n"), HasSubstr("speaks control protocol 1, not 2"));
  EXPECT_THAT(error_of("{\"protocol\":0}\n"), HasSubstr("not 0"));
  EXPECT_THAT(error_of("{\"protocol\":\"1\"}\n"), HasSubstr("needs 'protocol', a whole number"));
  EXPECT_THAT(error_of("{\"protocol\":1.0}\n"), HasSubstr("needs 'protocol', a whole number"));
  EXPECT_THAT(error_of("{\"command\":\"status\"}\n"), HasSubstr("needs 'protocol', a whole number"));
}

TEST(ControlFrame, TrustsNothingThatFollowsABrokenOne) {
  ControlFrames frames(longest_command_bytes);
  frames.feed("nonsense\n" + status_frame);
  EXPECT_FALSE(*frames.next());
  EXPECT_FALSE(frames.next());
  frames.feed(status_frame);
  EXPECT_FALSE(frames.next());
}

TEST(ControlFrame, AnswersOnOneLineEvenWhereTheDocumentHasSeveral) {
  const std::string frame = success_frame("{\n  \"a\": 1\n}\n");
  EXPECT_EQ(frame.find('\n'), frame.size() - 1);
  EXPECT_EQ(json::parse(frame)["result"]["a"], 1);
  EXPECT_EQ(json::parse(frame)["ok"], true);
}

TEST(ControlFrame, RefusesInWordsWhateverBytesTheyHave) {
  const json frame = json::parse(refusal_frame("Traceback\n  caf\xe9 \"x\""));
  EXPECT_EQ(frame["ok"], false);
  EXPECT_EQ(frame["error"], "Traceback\n  caf\xef\xbf\xbd \"x\"");
}
}  // namespace
}  // namespace moult
