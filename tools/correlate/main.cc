// moult correlate EVENTS... --canary FILE: do the errors that a canary saw come near recycles?
#include <algorithm>
#include <exception>

#include "tools/correlate/report.h"
#include "tools/event_history/command.h"
#include "tools/event_history/read_history.h"
namespace moult {
namespace {
using Paths = std::vector<std::string>;

struct Asked {
  Paths events;
  std::string canary;
  CorrelationSettings settings;
  bool json;
};

cxxopts::Options options() {
  cxxopts::Options options("moult correlate", "do the errors that a canary saw come near recycles?");
  options.positional_help("EVENTS...").custom_help("--canary FILE [flags]");
  auto add = options.add_options();
  const auto text = [](const char* otherwise = nullptr) {
    return otherwise ? cxxopts::value<std::string>()->default_value(otherwise) : cxxopts::value<std::string>();
  };
  add("canary", "a line for each error: JSON lines or text, with times; - is stdin", text(), "FILE");
  add("window", "an error is near a recycle within this time, before or after it", text("60s"), "T");
  add("permutations", "how many, from 999 to 1000000", text("9999"), "N");
  add("seed", "of what is random: the same seed gives the same answer", text("1"), "N");
  add("json", "print one JSON object");
  add("h,help", "print this");
  add("events", events_help, cxxopts::value<Paths>());
  options.parse_positional("events");
  return options;
}

Result<CorrelationSettings> settings_of(const cxxopts::ParseResult& given) {
  const auto window = read_duration(given["window"].as<std::string>());
  if (!window) return Error{"--window " + window.error().message};
  const auto permutations = read_count(given["permutations"].as<std::string>(), most_permutations);
  if (!permutations) return Error{"--permutations " + permutations.error().message};
  if (*permutations < fewest_permutations)
    return Error{"--permutations: at least " + std::to_string(fewest_permutations) + ", or p says nothing"};
  const auto seed = read_count(given["seed"].as<std::string>(), UINT64_MAX);
  if (!seed) return Error{"--seed " + seed.error().message};
  return CorrelationSettings{*window, static_cast<unsigned>(*permutations), *seed};
}

Result<Asked> asked_of(const cxxopts::ParseResult& given) {
  if (!given.count("events") || !given.count("canary"))
    return Error{"correlate needs event files and a canary's: moult correlate EVENTS --canary FILE"};
  const auto settings = settings_of(given);
  if (!settings) return settings.error();
  Asked asked{given["events"].as<Paths>(), given["canary"].as<std::string>(), *settings, given.count("json") > 0};
  if (asked.canary == "-" && std::ranges::find(asked.events, "-") != asked.events.end())
    return Error{"correlate: events and the canary cannot both come from stdin"};
  return asked;
}

int answer(const Asked& asked) {
  const auto history = read_history(asked.events);
  if (!history) return tool_fails(tool_failed, history.error().message);
  const auto canary = read_canary(asked.canary);
  if (!canary) return tool_fails(tool_failed, canary.error().message);
  std::vector<WallTime> recycles;
  for (const RecycleLine& recycle : history->recycles) recycles.push_back(recycle.at);
  Correlation correlation = correlate(recycles, canary->times, history->first, history->last, asked.settings);
  if (const auto silence = history->longest_silence; silence && correlation.too_few.empty())
    correlation.too_few = too_silent(correlation, silence->from, silence->to);
  const Timeline rows = timeline(recycles, canary->times, correlation.from, correlation.to);
  const Findings found{*history, *canary, correlation, rows};
  return tool_prints(asked.json ? correlate_json(found) : correlate_text(found));
}

int run(int argc, char** argv) {
  cxxopts::Options known = options();
  const auto given = parse_arguments(known, "correlate", argc, argv);
  if (!given) return tool_fails(tool_bad_usage, given.error().message);
  if (given->count("help")) return tool_prints(known.help());
  const auto asked = asked_of(*given);
  return asked ? answer(*asked) : tool_fails(tool_bad_usage, asked.error().message);
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
