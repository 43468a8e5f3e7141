// The rows of the flag table that say when a worker is replaced.
#include "master/config/flag_types.h"
#include "master/config/in_quotes.h"
namespace moult {
namespace {
using namespace flag_type;
using namespace std::chrono_literals;

FlagType with(std::function<Result<void>(Config&, std::string_view)> read) { return {FlagShape::text, read}; }

Result<void> read_memory_limit(Config& config, std::string_view text) {
  RecyclingConfig& recycling = config.recycling;
  recycling.memory_limit = text == "auto" ? MemoryLimit::automatic : MemoryLimit::off;
  if (text == "auto" || text == "off") return {};
  const auto size = parse_size(text);
  if (!size) return Error{size.error().message + ", or auto, or off"};
  recycling.memory_limit = MemoryLimit::given;
  recycling.memory_limit_size = *size;
  return {};
}

Result<void> read_min_headroom(Config& config, std::string_view text) {
  config.recycling.min_headroom = {};
  if (text == "off" || text == "0") return {};
  const auto size = parse_size(text);
  if (!size) return Error{size.error().message + ", or off"};
  config.recycling.min_headroom = *size;
  return {};
}
}  // namespace

std::vector<Flag> recycling_flags() {
  constexpr auto part = &Config::recycling;
  constexpr auto group = FlagGroup::recycling;
  using Part = RecyclingConfig;
  return {
      {"memory-limit", 0, "SIZE|auto", "off", group,
       "replace a worker that weighs this (RSS), each with its jitter; auto: by what this machine or container has",
       with(read_memory_limit)},
      {"limit-jitter", 0, "PERCENT", "8%", group, "how far around --memory-limit a worker draws its own",
       percent(part, &Part::limit_jitter_percent)},
      {"limit-spread", 0, "SIZE", "", group, "the least width of the range drawn from (default: 5 % of --memory-limit)",
       size(part, &Part::limit_spread)},
      {"hard-limit", 0, "SIZE", "", group, "replace at once a worker that weighs this (default: 1.3 x --memory-limit)",
       size(part, &Part::hard_limit)},
      {"min-runway", 0, "SIZE", "", group,
       "the least that a worker may grow (default: 50MB, or 40 % of what it weighs when it is ready)",
       size(part, &Part::min_runway)},
      {"runway", 0, "refuse|raise", "refuse", group, "with less runway: do not start, or raise the limit",
       choice<Part, RunwayRule>(part, &Part::runway, {{"refuse", RunwayRule::refuse}, {"raise", RunwayRule::raise}})},
      {"min-headroom", 0, "SIZE", "10%", group,
       "with less than this left (% of the limit): replace the worker that frees most", with(read_min_headroom)},
      {"max-requests", 0, "N", "0", group, "replace a worker after this many requests; 0 is off",
       number(part, &Part::max_requests, 0, 1'000'000'000)},
      {"max-requests-jitter", 0, "N", "0", group, "more requests than that, drawn up to this",
       number(part, &Part::max_requests_jitter, 0, 1'000'000'000)},
      {"max-lifetime", 0, "TIME", "off", group, "replace a worker that has served this long",
       time_or_off(part, &Part::max_lifetime, 1s, 10000h)},
      {"max-lifetime-jitter", 0, "TIME", "0", group, "longer than that, drawn up to this",
       time(part, &Part::max_lifetime_jitter, 0ms, 10000h)},
      {"cooldown", 0, "TIME", "120s", group, "between two replacements that are not urgent",
       time(part, &Part::cooldown, 0ms, 24h)},
      {"urgent-cooldown", 0, "TIME", "", group,
       "before one over its hard limit, or under pressure (default: 1s, or --cooldown where that is less)",
       reads(FlagShape::time, part, &Part::urgent_cooldown,
             [](std::string_view text) {
               return parse_time(text, {0ms, 24h});
             })},
      {"busy-rps", 0, "RATE", "off", group, "a worker with so many requests a second waits for a quiet moment",
       or_off(FlagShape::text, part, &Part::busy_requests_per_second, parse_rate)},
      {"defer-max", 0, "TIME", "60s", group, "how long it waits for that", time(part, &Part::defer_max, 0ms, 24h)},
      {"sample-near", 0, "TIME", "100ms", group, "how often a worker near its limit is looked at",
       time(part, &Part::sample_near, 10ms, 1h)},
      {"sample-far", 0, "TIME", "1s", group, "how often others are", time(part, &Part::sample_far, 10ms, 1h)},
      {"replace", 0, "auto|successor-first|in-place", "auto", group,
       "start the successor first, or stop the old worker first; auto: by the memory that is left",
       choice<Part, ReplaceRule>(part, &Part::replace,
                                 {{"auto", ReplaceRule::automatic},
                                  {"successor-first", ReplaceRule::successor_first},
                                  {"in-place", ReplaceRule::in_place}})},
      {"alarm-requests-p10", 0, "N", "400", group,
       "alarm when a tenth of the workers that go because of memory served fewer requests",
       number(part, &Part::alarm_requests_p10, 0, 1'000'000'000)},
      {"alarm-window", 0, "N", "50", group, "of the last so many", number(part, &Part::alarm_window, 10, 10000)},
      {"on-alarm", 0, "COMMAND", "", group, "run this by sh when the alarm begins or ends; its event is in MOULT_EVENT",
       text(part, &Part::on_alarm)},
  };
}
}  // namespace moult
