#include "master/config/units.h"

#include <gmock/gmock.h>
namespace moult {
namespace {
using namespace std::chrono_literals;

std::string refusal_of_time(std::string_view text) {
  const auto time = parse_time(text, {10ms, 1h});
  return time ? "(accepted)" : time.error().message;
}
std::string refusal_of_size(std::string_view text) {
  const auto size = parse_size(text);
  return size ? "(accepted)" : size.error().message;
}
std::string refusal_of_number(std::string_view text) {
  const auto number = parse_number(text, {1, 1024});
  return number ? "(accepted)" : number.error().message;
}

TEST(Units, ReadsTimesAsSecondsOrWithTheirUnit) {
  const Range<milliseconds> all{0ms, 24h};
  EXPECT_EQ(*parse_time("30", all), 30s);
  EXPECT_EQ(*parse_time("0.25", all), 250ms);
  EXPECT_EQ(*parse_time("250ms", all), 250ms);
  EXPECT_EQ(*parse_time("1.5s", all), 1500ms);
  EXPECT_EQ(*parse_time("5m", all), 5min);
  EXPECT_EQ(*parse_time("24h", all), 24h);
  EXPECT_EQ(*parse_time("0", all), 0ms);
}

TEST(Units, RefusesATimeOutOfItsRangeAndNamesTheRange) {
  EXPECT_EQ(refusal_of_time("10ms"), "(accepted)");
  EXPECT_EQ(refusal_of_time("9ms"), "'9ms' is out of range: 10ms to 1h");
  EXPECT_EQ(refusal_of_time("1h"), "(accepted)");
  EXPECT_EQ(refusal_of_time("3600001ms"), "'3600001ms' is out of range: 10ms to 1h");
  EXPECT_EQ(refusal_of_time("-1"), "'-1' is out of range: 10ms to 1h");
  const std::string huge(400, '9');
  EXPECT_THAT(refusal_of_time(huge), ::testing::EndsWith("is out of range: 10ms to 1h"));
  EXPECT_FALSE(parse_time("0.1ms", {0ms, 1h})) << "it would be rounded to nothing";
}

TEST(Units, RefusesATimeWithAnUnknownUnitAndNamesTheRightOnes) {
  EXPECT_EQ(refusal_of_time("5x"), "'5x' has the unknown unit 'x': times are seconds, or ms, s, m, h");
  EXPECT_EQ(refusal_of_time("5MS"),
            "'5MS' has the unknown unit 'MS': did you mean ms? times are seconds, or ms, s, m, h");
  for (const auto text : {"", "s", "nan", "inf", " 5", "+5", ".5"})
    EXPECT_THAT(refusal_of_time(text), ::testing::HasSubstr("is not a time")) << text;
  for (const auto text : {"5 s", "1e3", "1m30s", "5,5", "0x10"})
    EXPECT_THAT(refusal_of_time(text), ::testing::HasSubstr("unknown unit")) << text;
}

TEST(Units, WritesTimesSoThatTheyReadBack) {
  for (const milliseconds time : {0ms, 1ms, 1500ms, 2000ms, 90'000ms, 60'000ms, 3'600'000ms, 86'400'000ms})
    EXPECT_EQ(*parse_time(time_text(time), {0ms, 24h}), time) << time_text(time);
  EXPECT_EQ(time_text(90s), "90s");
  EXPECT_EQ(time_text(2h), "2h");
}

TEST(Units, ReadsSizesInPowersOf1000AndOf1024) {
  EXPECT_EQ(parse_size("1048576")->bytes, 1048576u);
  EXPECT_EQ(parse_size("1kB")->bytes, 1000u);
  EXPECT_EQ(parse_size("1.5MB")->bytes, 1500000u);
  EXPECT_EQ(parse_size("2GB")->bytes, 2000000000u);
  EXPECT_EQ(parse_size("1KiB")->bytes, 1024u);
  EXPECT_EQ(parse_size("300MiB")->bytes, 314572800u);
  EXPECT_EQ(parse_size("1GiB")->bytes, 1073741824u);
}

TEST(Units, LeavesAShareOfTheCgroupLimitSymbolic) {
  EXPECT_EQ(*parse_size("80%"), (Size{0, 80}));
  EXPECT_EQ(*parse_size("100%"), (Size{0, 100}));
  EXPECT_EQ(refusal_of_size("101%"), "'101%' is out of range: above 0% to 100%");
  EXPECT_EQ(refusal_of_size("0%"), "'0%' is out of range: above 0% to 100%");
}

TEST(Units, RefusesASizeWithAnUnknownSuffixAndNamesTheRightOnes) {
  EXPECT_EQ(refusal_of_size("5KB"),
            "'5KB' has the unknown unit 'KB': did you mean kB? sizes are bytes, or kB, MB, GB, KiB, MiB, GiB, or % of "
            "the cgroup's limit");
  EXPECT_THAT(refusal_of_size("5M"), ::testing::HasSubstr("sizes are bytes, or kB, MB"));
  EXPECT_THAT(refusal_of_size("much"), ::testing::HasSubstr("is not a size: sizes are bytes"));
}

TEST(Units, RefusesASizeOutOfRange) {
  EXPECT_EQ(parse_size(std::to_string(most_bytes))->bytes, most_bytes);
  EXPECT_THAT(refusal_of_size(std::to_string(most_bytes + 1)), ::testing::HasSubstr("is out of range: 1 to"));
  EXPECT_THAT(refusal_of_size("99999999999999999999GiB"), ::testing::HasSubstr("is out of range"));
  EXPECT_THAT(refusal_of_size("0"), ::testing::HasSubstr("is out of range: 1 to"));
  EXPECT_THAT(refusal_of_size("-5MB"), ::testing::HasSubstr("a size is above zero"));
}

TEST(Units, RefusesANumberThatIsNotWholeOrOutOfRange) {
  EXPECT_EQ(*parse_number("1", {1, 1024}), 1u);
  EXPECT_EQ(*parse_number("1024", {1, 1024}), 1024u);
  for (const auto text : {"0", "1025", "-1", "99999999999999999999999999"})
    EXPECT_EQ(refusal_of_number(text), "'" + std::string(text) + "' is out of range: 1 to 1024");
  for (const auto text : {"", "four", "4.5", " 4", "4 ", "+4", "0x4", "-", "99999999999999999999x"})
    EXPECT_EQ(refusal_of_number(text), "'" + std::string(text) + "' is not a whole number from 1 to 1024");
}

TEST(Units, RefusesAFractionOfAPercentWhereOnlyWholeOnesAreKept) {
  EXPECT_EQ(*parse_whole_percent("0%"), 0u);
  EXPECT_EQ(*parse_whole_percent("66.0%"), 66u);
  EXPECT_EQ(*parse_whole_percent("100%"), 100u);
  EXPECT_EQ(parse_whole_percent("66.7%").error().message, "'66.7%' is not a whole percentage: write 66% or 67%");
  EXPECT_EQ(parse_whole_percent("0.001%").error().message, "'0.001%' is not a whole percentage: write 0% or 1%");
  EXPECT_EQ(parse_whole_percent("101%").error().message, "'101%' is not a share: 0% to 100%");
  EXPECT_EQ(parse_whole_percent("101").error().message, "'101' is not a share: 0% to 100%");
  EXPECT_EQ(parse_whole_percent("100").error().message, "'100' is not a share: 0% to 100%; did you mean 100%?");
}

TEST(Units, ReadsModesInOctal) {
  EXPECT_EQ(*parse_mode("022"), 022u);
  EXPECT_EQ(*parse_mode("0777"), 0777u);
  EXPECT_EQ(*parse_mode("22"), 022u);
  for (const auto text : {"1000", "8", "0o22", "-1", ""}) EXPECT_FALSE(parse_mode(text)) << text;
}

TEST(Units, ReadsTogglesInTheWordsThatPeopleUse) {
  for (const auto text : {"on", "true", "yes", "1"}) EXPECT_TRUE(*parse_toggle(text)) << text;
  for (const auto text : {"off", "false", "no", "0"}) EXPECT_FALSE(*parse_toggle(text)) << text;
  EXPECT_EQ(parse_toggle("maybe").error().message, "'maybe' is neither on nor off");
}
}  // namespace
}  // namespace moult
