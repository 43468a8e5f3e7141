#include "tools/event_history/command.h"

#include <array>
#include <charconv>
#include <iostream>
#include <string_view>
namespace moult {
namespace {
// cxxopts looks at whatever begins with a dash by a regular expression, which takes stack for every letter.
constexpr std::size_t longest_dashed = 4096;
constexpr std::size_t longest_quoted = 40;
}  // namespace

int tool_fails(int status, const std::string& why) {
  std::cerr << "moult: " + why + "\n";
  return status;
}

int tool_prints(const std::string& text) {
  std::cout << text << std::flush;
  return std::cout ? tool_done : tool_fails(tool_failed, "cannot write to stdout");
}

Result<cxxopts::ParseResult> parse_arguments(cxxopts::Options& options, const std::string& command, int argc,
                                             char** argv) {
  const std::string help = ": see moult " + command + " --help";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with('-') && argument.size() > longest_dashed)
      return Error{command + " has no flag '" + std::string(argument.substr(0, longest_quoted)) + "...'" + help};
  }
  try {
    return options.parse(argc, argv);
  } catch (const std::exception& error) { return Error{command + ": " + error.what() + help}; }
}

Result<Duration> read_duration(const std::string& text) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  constexpr std::array units{Unit{"", 1}, Unit{"ms", 0.001}, Unit{"s", 1}, Unit{"m", 60}, Unit{"h", 3600}};
  constexpr double most_seconds = 30.0 * 24 * 3600;
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string suffix = read.ec == std::errc() ? std::string(read.ptr) : "?";
  for (const Unit& unit : units) {
    const double seconds = number * unit.seconds;
    if (suffix == unit.name && seconds > 0 && seconds <= most_seconds)
      return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  }
  return Error{"'" + text.substr(0, longest_quoted) + "' is no time from 1ms to 720h: give seconds, or a number with " +
               "ms, s, m or h"};
}

Result<std::uint64_t> read_count(const std::string& text, std::uint64_t most) {
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec == std::errc() && read.ptr == text.data() + text.size() && number <= most) return number;
  return Error{"'" + text.substr(0, longest_quoted) + "' is no whole number from 0 to " + std::to_string(most)};
}
}  // namespace moult
