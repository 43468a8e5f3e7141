#include "worker/message.h"

#include <gtest/gtest.h>

namespace moult {
namespace {
using namespace std::string_literals;

std::string refusal(std::string_view datagram) {
  const auto message = parse(datagram);
  return message ? "understood" : message.error().message;
}

std::string lines(std::size_t count) {
  std::string datagram;
  for (std::size_t i = 0; i < count; ++i) datagram += "A=1\n";
  return datagram;
}

TEST(Message, IsReadInOrderWithEmptyValuesAndValuesThatHoldAnEqualsSign) {
  const auto message = parse("READY=1\nDRAIN=close\nSTATUS=a=b\nX_EMPTY=");
  ASSERT_TRUE(message);
  EXPECT_EQ(*message, (Message{{"READY", "1"}, {"DRAIN", "close"}, {"STATUS", "a=b"}, {"X_EMPTY", ""}}));
}

TEST(Message, MayEndInANewlineAndHaveEmptyLines) {
  const auto message = parse("READY=1\n\nSTATUS=up\n");
  ASSERT_TRUE(message);
  EXPECT_EQ(*message, (Message{{"READY", "1"}, {"STATUS", "up"}}));
}

TEST(Message, KeepsKeysThatNobodyHereKnows) {
  const auto message = parse("MAINPID=12\nFDPOLL=0\nREADY=1");
  ASSERT_TRUE(message);
  EXPECT_EQ(message->find("FDPOLL"), "0");
  EXPECT_FALSE(message->has("STOPPING"));
}

TEST(Message, LetsTheFirstOfTwoLinesWithOneKeyCount) {
  const auto message = parse("A=1\nA=2");
  ASSERT_TRUE(message);
  EXPECT_EQ(message->find("A"), "1");
}

TEST(Message, IsRefusedWithWhatIsWrongAndWhere) {
  EXPECT_EQ(refusal(""), "bad message: it is empty");
  EXPECT_EQ(refusal("\n\n"), "bad message: it is empty");
  EXPECT_EQ(refusal("READY=1\nhello"), "bad message: line 2 has no '='");
  EXPECT_EQ(refusal("=1"), "bad message: line 1 has no key of 1 to 64 of A-Z, 0-9 and _");
  EXPECT_EQ(refusal("ready=1"), "bad message: line 1 has no key of 1 to 64 of A-Z, 0-9 and _");
  EXPECT_EQ(refusal("READY =1"), "bad message: line 1 has no key of 1 to 64 of A-Z, 0-9 and _");
  EXPECT_EQ(refusal(std::string("A=\0", 3)), "bad message: it has a NUL byte");
}

TEST(Message, HasKeysOf64CharactersAndNotOf65) {
  EXPECT_EQ(refusal(std::string(64, 'K') + "=1"), "understood");
  EXPECT_NE(refusal(std::string(65, 'K') + "=1"), "understood");
}

TEST(Message, Has64LinesAndNot65) {
  EXPECT_EQ(refusal(lines(63)), "understood");
  EXPECT_EQ(refusal(lines(64)), "understood");
  EXPECT_EQ(refusal(lines(65)), "bad message: more than 64 lines");
}

TEST(Message, Has64KiBAndNotAByteMore) {
  const std::string longest = "A=" + std::string(max_message_bytes - 2, 'x');
  EXPECT_EQ(refusal(longest), "understood");
  EXPECT_EQ(refusal(longest + "x"), "bad message: longer than 64 KiB");
}

TEST(Message, ReadsNumbersWholeOrNotAtAll) {
  const auto message = parse("MOST=18446744073709551615\nOVER=18446744073709551616\nTAIL=12x\nPLUS=+1\nLESS=-1\nNONE=");
  ASSERT_TRUE(message);
  EXPECT_EQ(message->find_number<std::uint64_t>("MOST"), 18446744073709551615U);
  EXPECT_EQ(message->find_number<std::uint64_t>("OVER"), std::nullopt);
  EXPECT_EQ(message->find_number<std::uint64_t>("TAIL"), std::nullopt);
  EXPECT_EQ(message->find_number<std::uint64_t>("PLUS"), std::nullopt);
  EXPECT_EQ(message->find_number<std::uint64_t>("LESS"), std::nullopt);
  EXPECT_EQ(message->find_number<int>("LESS"), -1);
  EXPECT_EQ(message->find_number<std::uint64_t>("NONE"), std::nullopt);
  EXPECT_EQ(message->find_number<std::uint64_t>("ABSENT"), std::nullopt);
  EXPECT_EQ(message->find_number<std::uint8_t>("MOST"), std::nullopt);
}

TEST(Message, IsWrittenAsItIsRead) {
  const Message message = Message{{"RETIRE", "1"}}.add("DEADLINE_USEC", std::uint64_t{123456});
  const auto datagram = serialise(message);
  ASSERT_TRUE(datagram);
  EXPECT_EQ(*datagram, "RETIRE=1\nDEADLINE_USEC=123456");
  EXPECT_EQ(*parse(*datagram), message);
}

TEST(Message, IsNotWrittenWhenTheOtherSideWouldRefuseOrMisreadIt) {
  EXPECT_EQ(serialise({{"STATUS", "a\nREADY=1"}}).error().message, "bad message: line 1 has a newline in its value");
  EXPECT_FALSE(serialise({}));
  EXPECT_FALSE(serialise({{"status", "a"}}));
  EXPECT_FALSE(serialise({{"A=B", "a"}, {"", "b"}}));
  EXPECT_FALSE(serialise({{"STATUS", std::string(max_message_bytes, 'x')}}));
}

TEST(EscapedText, ComesBackAsItWas) {
  const std::string text = "Traceback:\n  C:\\new\\0\n\0end\\"s;
  const std::string value = escape(text);
  EXPECT_EQ(value.find('\n'), value.npos);
  EXPECT_EQ(value.find('\0'), value.npos);
  EXPECT_EQ(unescape(value), text);
  EXPECT_EQ(escape("a\nb\\n"), "a\\nb\\\\n");
}

TEST(EscapedText, KeepsABackslashThatEscapesNothing) { EXPECT_EQ(unescape("a\\tb\\"), "a\\tb\\"); }

TEST(EscapedText, LosesItsBeginningAndNotItsEndWhenItIsTooLong) {
  EXPECT_EQ(escape(std::string(max_escaped_bytes, 'x')).size(), max_escaped_bytes);
  const std::string value = escape(std::string(max_escaped_bytes, '\n') + "last line");
  EXPECT_LE(value.size(), max_escaped_bytes);
  EXPECT_GE(value.size(), max_escaped_bytes - 1);
  EXPECT_TRUE(value.ends_with("\\nlast line"));
  EXPECT_EQ(unescape(value).front(), '\n');
}

TEST(OneLine, HasNoNewline) {
  EXPECT_EQ(one_line("two\nlines"), "two lines");
  EXPECT_EQ(one_line(std::string(max_escaped_bytes + 1, 'x')).size(), max_escaped_bytes);
}
}  // namespace
}  // namespace moult
