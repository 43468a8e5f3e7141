// moult doctor [--json] EVENTS...: reads what `moult run --events` wrote, and names what is wrong with the settings.
#include <cxxopts.hpp>
#include <exception>

#include "tools/doctor/checks.h"
#include "tools/doctor/report.h"
#include "tools/event_history/command.h"
#include "tools/event_history/read_history.h"
namespace moult {
namespace {
cxxopts::Options options() {
  cxxopts::Options options("moult doctor", "read event files, name what is wrong, and say what to do next");
  options.positional_help("EVENTS...").custom_help("[--json]");
  auto add = options.add_options();
  add("json", "print one JSON object");
  add("h,help", "print this");
  add("events", events_help, cxxopts::value<std::vector<std::string>>());
  options.parse_positional("events");
  return options;
}

int run(int argc, char** argv) {
  cxxopts::Options known = options();
  const auto parsed = parse_arguments(known, "doctor", argc, argv);
  if (!parsed) return tool_fails(tool_bad_usage, parsed.error().message);
  const cxxopts::ParseResult& given = *parsed;
  if (given.count("help")) return tool_prints(known.help());
  if (!given.count("events"))
    return tool_fails(tool_bad_usage, "doctor needs a file that 'moult run --events FILE' wrote: moult doctor FILE");
  const auto history = read_history(given["events"].as<std::vector<std::string>>());
  if (!history) return tool_fails(tool_failed, history.error().message);
  const auto checks = all_checks(*history);
  return tool_prints(given.count("json") ? doctor_json(*history, checks) : doctor_text(*history, checks));
}
}  // namespace
}  // namespace moult

int main(int argc, char** argv) {
  try {
    return moult::run(argc, argv);
  } catch (const std::exception& error) {  // out of memory, at the most
    return moult::tool_fails(moult::tool_failed, error.what());
  }
}
