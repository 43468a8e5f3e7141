#include "master/launch/output_relay.h"

#include <fcntl.h>
#include <gmock/gmock.h>

#include "tests/unit/launch/launch_loop.h"
namespace moult {
namespace {
using testing::ElementsAre;

class Relaying : public LaunchLoop {
 protected:
  void open(const std::string& prefix = "") {
    auto made = OutputRelay::open(&loop, OutputStream::standard_output, prefix, [this](OutputStream, auto line) {
      if (full) return false;
      lines.emplace_back(line);
      return true;
    });
    ASSERT_TRUE(made);
    relay = std::move(made->first);
    end = std::move(made->second);
  }
  void write(const std::string& text) const {
    ASSERT_EQ(static_cast<ssize_t>(text.size()), ::write(end.get(), text.data(), text.size()));
  }
  std::unique_ptr<OutputRelay> relay;
  UniqueFd end;
  std::vector<std::string> lines;
  bool full = false;
};

TEST_F(Relaying, GivesWholeLinesWithTheirPrefix) {
  open("[3] ");
  write("one\ntw");
  ASSERT_TRUE(run_until([&] { return lines.size() == 1; }));
  write("o\n\n");
  ASSERT_TRUE(run_until([&] { return lines.size() == 3; }));
  EXPECT_THAT(lines, ElementsAre("[3] one", "[3] two", "[3] "));
  relay.reset();
}

TEST_F(Relaying, GivesTheUnfinishedLineWhenItGoes) {
  open();
  write("one\ntwo");
  relay.reset();
  EXPECT_THAT(lines, ElementsAre("one", "two"));
}

TEST_F(Relaying, CutsALineThatIsTooLongWithoutInventingAnEmptyOne) {
  open();
  write(std::string(OutputRelay::longest_line, 'a') + "\n" + std::string(OutputRelay::longest_line + 1, 'b') + "\n");
  relay.reset();
  EXPECT_THAT(lines, ElementsAre(std::string(OutputRelay::longest_line, 'a'),
                                 std::string(OutputRelay::longest_line, 'b'), "b"));
}

TEST_F(Relaying, NeverLetsAWriterWaitForASinkThatIsFull) {
  open();
  full = true;
  // Ten times what the pipe holds, by a writer that would block.
  const pid_t writer = ::fork();
  if (writer == 0) {
    const std::string line(99, 'x');
    for (int i = 0; i < 6500; ++i) [[maybe_unused]] const ssize_t n = ::write(end.get(), (line + "\n").data(), 100);
    ::_exit(0);
  }
  end.reset();
  ASSERT_TRUE(run_until([&] { return relay->dropped_lines() == 6500; }));
  EXPECT_TRUE(lines.empty());
  EXPECT_TRUE(run_until([&] { return is_gone(writer); }));
  relay.reset();
}
}  // namespace
}  // namespace moult
