#include "master/config/env_file.h"

#include <gmock/gmock.h>
namespace moult {
namespace {
using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<std::pair<std::string, std::string>> variables(std::string_view text) {
  auto read = parse_env_file(text, ".env");
  if (read) return *read;
  ADD_FAILURE() << read.error().message;
  return {};
}
std::string refusal_of(std::string_view text) {
  const auto read = parse_env_file(text, ".env");
  return read ? "(accepted)" : read.error().message;
}

TEST(EnvFile, ReadsNamesAndValuesAndSkipsCommentsAndEmptyLines) {
  EXPECT_THAT(variables("# a comment\n\nA=1\n  B=two words  \r\nexport C=3\nD=\nE=a=b"),
              ElementsAre(Pair("A", "1"), Pair("B", "two words"), Pair("C", "3"), Pair("D", ""), Pair("E", "a=b")));
}

TEST(EnvFile, ReadsQuotedValues) {
  EXPECT_THAT(variables("A='lit $x \\n'\nB=\"a \\\"b\\\" \\n\\t\\\\ \\$x \\q\"\nC='x' # why\nD=\"# no comment\""),
              ElementsAre(Pair("A", "lit $x \\n"), Pair("B", "a \"b\" \n\t\\ $x \\q"), Pair("C", "x"),
                          Pair("D", "# no comment")));
}

TEST(EnvFile, TakesAHashInsideAWordForALetter) { EXPECT_THAT(variables("A=b#c"), ElementsAre(Pair("A", "b#c"))); }

TEST(EnvFile, SaysOnWhichLineWhatIsWrong) {
  EXPECT_EQ(refusal_of("A=1\nB"), ".env: line 2: is not NAME=value");
  EXPECT_EQ(refusal_of("\n\n1A=2"), ".env: line 3: '1A' is no name of a variable");
  EXPECT_EQ(refusal_of("A-B=2"), ".env: line 1: 'A-B' is no name of a variable");
  EXPECT_EQ(refusal_of("=2"), ".env: line 1: '' is no name of a variable");
  EXPECT_EQ(refusal_of("A='open\nB=1"), ".env: line 1: the quote is not closed on its line");
  EXPECT_EQ(refusal_of("A=\"open\\\""), ".env: line 1: the quote is not closed on its line");
  EXPECT_EQ(refusal_of("A='x'y"), ".env: line 1: something follows the closing quote");
  EXPECT_EQ(refusal_of("A=b # c"), ".env: line 1: does a comment begin at '#'? Put the value in quotes");
  EXPECT_EQ(refusal_of(std::string_view("A=b\0c", 5)), ".env: line 1: has a zero byte");
}
}  // namespace
}  // namespace moult
