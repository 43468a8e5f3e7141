// Event files, put together.
#include "tools/event_history/history.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tools/event_history/command.h"
#include "tools/event_history/figures.h"
#include "tools/event_history/line_reader.h"
#include "tools/event_history/read_history.h"
#include "tools/event_history/wrapped.h"
namespace moult {
namespace {
using namespace std::string_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class EventFiles : public testing::Test {
 protected:
  EventFiles() {
    std::string name = std::filesystem::temp_directory_path() / "moult-history-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~EventFiles() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  static std::string event(const std::string& second, const std::string& more = "") {
    return R"({"event":"worker_recycled","at":"2026-08-29T00:00:)" + second + R"(Z","instance":"web")" + more + "}\n";
  }
  std::vector<std::string> lines_of(const std::string& path) {
    std::vector<std::string> lines;
    const auto read = for_each_line(path, [&](const InputLine& line) {
      lines.push_back(std::to_string(line.number) + (line.too_long ? "!" : ":") + std::string(line.text));
      return Result<void>();
    });
    EXPECT_TRUE(read);
    return lines;
  }
  std::filesystem::path folder_;
};

TEST_F(EventFiles, LinesAreNumberedAndBlankOnesLeftOut) {
  EXPECT_THAT(lines_of(file("a", "\xef\xbb\xbfone\r\n\n  \nfour\nlast")), ElementsAre("1:one", "4:four", "5:last"));
  EXPECT_THAT(lines_of(file("empty", "")), ElementsAre());
}

TEST_F(EventFiles, ALineThatIsTooLongIsOneLineAndKeepsNothing) {
  const std::string most(longest_line, 'x');
  EXPECT_THAT(lines_of(file("a", most + "\n" + most + "x\nthen\n")), ElementsAre("1:" + most, "2!", "3:then"));
  EXPECT_THAT(lines_of(file("b", most + most + most)), ElementsAre("1!"));
}

TEST_F(EventFiles, SeveralArePutTogetherByTime) {
  const auto history = read_history({file("a", event("03", R"(,"slot":0)") + event("05", R"(,"slot":1)")),
                                     file("b", R"({"event":"slept","at":"2026-08-29T00:00:09Z","instance":"b"})"),
                                     file("c", event("04", R"(,"slot":0)"))});
  ASSERT_TRUE(history);
  EXPECT_EQ(history->recycles.size(), 3u);
  EXPECT_TRUE(std::ranges::is_sorted(history->recycles, {}, &RecycleLine::at));
  EXPECT_EQ(history->instances.size(), 2u);
  EXPECT_EQ(history->worker_slots.size(), 2u);
  EXPECT_EQ(history->last - history->first, std::chrono::seconds(6));
}

TEST_F(EventFiles, LinesThatAreOlderThanTheOneBeforeThemAreCounted) {
  const auto history = read_history({file("a", event("09") + event("03") + event("04") + event("01"))});
  ASSERT_TRUE(history);
  EXPECT_EQ(history->backward_steps, 2u);
  EXPECT_THAT(reading_remarks(*history),
              ElementsAre(AllOf(HasSubstr("2 lines are older than the one before them"),
                                HasSubstr("joined in another order, or the clock was set"))));
}

TEST_F(EventFiles, ARotatedFileMayComeBehindTheNewerOne) {
  const auto history = read_history({file("events", event("08") + event("09")), file("events.1", event("01"))});
  ASSERT_TRUE(history);
  EXPECT_EQ(history->backward_steps, 0u);
  EXPECT_TRUE(std::ranges::is_sorted(history->recycles, {}, &RecycleLine::at));
}

TEST_F(EventFiles, ACompressedFileIsNotReadAndItIsSaidHowToGiveIt) {
  for (const auto& [begin, tool] : {std::pair("\x1f\x8b\x08", "zcat"), std::pair("\x28\xb5\x2f\xfd", "zstdcat"),
                                    std::pair("\xfd\x37zXZ", "xzcat")}) {
    const std::string path = file("events.1.z", begin + std::string("\n{}\n"));
    const auto history = read_history({file("events", event("01")), path});
    ASSERT_FALSE(history) << tool;
    EXPECT_EQ(history.error().message, path + " is compressed: give it as <(" + tool + " FILE), or on stdin as -");
  }
}

TEST_F(EventFiles, TheLongestSilenceIsKnownToTheHour) {
  const auto at = [](const std::string& when) {
    return R"({"event":"worker_ready","at":")" + when + R"(:59:59Z","instance":"web"})" + "\n";
  };
  const auto history = read_history(
      {file("a", at("2026-08-29T00") + at("2026-08-29T01") + at("2026-08-29T09")), file("b", at("2026-08-29T03"))});
  ASSERT_TRUE(history);
  ASSERT_TRUE(history->longest_silence);
  EXPECT_EQ(history->longest_silence->length(), std::chrono::hours(5));
  EXPECT_EQ(read_history({file("c", at("2026-08-29T00"))})->longest_silence->length(), Duration::zero());
  EXPECT_FALSE(read_history({file("d", "")})->longest_silence);
}

TEST_F(EventFiles, MalformedLinesAreCountedWithTheFirstAsExamples) {
  const std::string path = file("a", "{\n" + event("01") + "[]\n{}\n7\n");
  const auto history = read_history({path});
  ASSERT_TRUE(history);
  EXPECT_EQ(history->malformed.lines, 4u);
  EXPECT_THAT(history->malformed.examples,
              ElementsAre(path + ":1: not JSON", path + ":3: no JSON object", path + ":4: it has no \"event\""));
}

TEST_F(EventFiles, ATornLineAndAHoleAreMalformedAndWhatFollowsIsRead) {
  const std::string hole(longest_line + 1, '\0');
  const std::string path = file("a", event("01").substr(30) + event("02") + hole + event("03") + "\0\0"s + event("04") +
                                         event("05") + event("06").substr(0, 30));
  const auto history = read_history({path});
  ASSERT_TRUE(history);
  EXPECT_EQ(history->recycles.size(), 2u);
  EXPECT_EQ(history->malformed.lines, 4u);
  EXPECT_THAT(history->malformed.examples,
              ElementsAre(path + ":1: not JSON", HasSubstr(":3: longer than"), path + ":4: not JSON"));
}

TEST_F(EventFiles, AFileWithoutAnyEventIsTheWrongFile) {
  const auto history = read_history({file("a", "one\ntwo\n")});
  ASSERT_FALSE(history);
  EXPECT_THAT(history.error().message, HasSubstr("none of 2 lines is one"));
}

TEST_F(EventFiles, AFileThatIsGivenTwiceIsRefused) {
  const std::string path = file("a", event("01")), link = folder_ / "link";
  std::filesystem::create_symlink(path, link);
  EXPECT_EQ(read_history({path, link}).error().message,
            path + " and " + link + " are the same file: give each file once");
  EXPECT_EQ(read_history({path, path}).error().message, path + " is given twice: give each file once");
  EXPECT_TRUE(read_history({path, file("b", event("01"))}));
}

TEST_F(EventFiles, AnEmptyFileIsAMoultThatHasJustBegun) {
  const auto history = read_history({file("a", "")});
  ASSERT_TRUE(history);
  EXPECT_EQ(history->events, 0u);
}

TEST_F(EventFiles, WhatCannotBeReadIsNamed) {
  EXPECT_EQ(read_history({folder_}).error().message, "cannot read " + folder_.string() + ": Is a directory");
  EXPECT_EQ(read_history({"/nowhere"}).error().message, "cannot read /nowhere: No such file or directory");
}

TEST(Figures, AreWrittenForPeople) {
  EXPECT_EQ(megabytes(100e6), "100 MB");
  EXPECT_EQ(megabytes(9.54e6), "9.5 MB");
  EXPECT_EQ(number(28.26), "28.3");
  EXPECT_EQ(number(1250), "1250");
  EXPECT_EQ(duration_text(41.2), "41.2 s");
  EXPECT_EQ(duration_text(150), "150 s");
  EXPECT_EQ(duration_text(82800), "23 h");
  EXPECT_EQ(duration_text(7 * 86400), "7 days");
  EXPECT_EQ(counted(1, "recycle", "recycles"), "1 recycle");
  EXPECT_EQ(percentile({5, 1, 3, 2, 4, 10, 9, 8, 7, 6}, 10), 1);
  EXPECT_EQ(percentile({5, 1, 3}, 50), 3);
  EXPECT_EQ(percentile({}, 50), 0);
}

TEST(Figures, SentencesAreWrappedAtBlanks) {
  EXPECT_EQ(wrapped("one two", 2), "  one two\n");
  EXPECT_EQ(wrapped(std::string(60, 'a') + " " + std::string(60, 'b'), 0),
            std::string(60, 'a') + "\n" + std::string(60, 'b') + "\n");
  EXPECT_EQ(wrapped(std::string(150, 'a') + " b", 0), std::string(150, 'a') + "\nb\n");
}

TEST(Arguments, TimesAndCountsAreReadOrRefused) {
  EXPECT_EQ(*read_duration("90"), std::chrono::seconds(90));
  EXPECT_EQ(*read_duration("250ms"), std::chrono::milliseconds(250));
  EXPECT_EQ(*read_duration("2h"), std::chrono::hours(2));
  for (const char* text : {"", "0", "-1", "nan", "inf", "5 s", "5d", "721h", "1e99"})
    EXPECT_FALSE(read_duration(text)) << text;
  EXPECT_EQ(*read_count("17", 17), 17u);
  for (const char* text : {"", "18", "-1", "1.5", "x", "99999999999999999999"})
    EXPECT_FALSE(read_count(text, 17)) << text;
}
}  // namespace
}  // namespace moult
