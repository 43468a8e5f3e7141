// The rows of the flag table that say when the app sleeps, and how it wakes.
#include "master/config/flag_types.h"
namespace moult {
namespace {
using namespace flag_type;
using namespace std::chrono_literals;

// Choices. Who sleeps after less than this would do nothing but fall asleep and wake.
constexpr milliseconds shortest_idle = 100ms, longest_idle = 10000h;

// Zero is never.
Result<milliseconds> parse_idle(std::string_view text) {
  if (const auto zero = parse_time(text, {0ms, 0ms}); zero || text == "off") return milliseconds::zero();
  auto time = parse_time(text, {shortest_idle, longest_idle});
  if (!time) return Error{time.error().message + ", or 0: never"};
  return time;
}
}  // namespace

std::vector<Flag> sleep_flags() {
  constexpr auto part = &Config::sleep;
  constexpr auto group = FlagGroup::sleeping;
  using Part = SleepConfig;
  return {
      {"idle", 0, "TIME", "0", group,
       "end all workers when nobody has called for this long, until somebody does; 0: never",
       reads(FlagShape::time, part, &Part::idle, parse_idle)},
      {"warmth", 0, "spare|fork-server|nothing", "fork-server", group,
       "what is kept for the next wake: a worker that has started, the loaded app, or nothing",
       choice<Part, Warmth>(
           part, &Part::warmth,
           {{"spare", Warmth::spare}, {"fork-server", Warmth::fork_server}, {"nothing", Warmth::nothing}})},
      {"warm-for", 0, "TIME", "4h", group, "for how long; then nothing is", time(part, &Part::warm_for, 0ms, 10000h)},
      {"wake-timeout", 0, "TIME", "30s", group, "how long callers wait for a wake; then they get 503",
       time(part, &Part::wake_timeout, 100ms, 1h)},
      {"state-dir", 0, "DIR", "", group, "keep there whether the app sleeps, so that a restart knows it",
       text(part, &Part::state_dir)},
      {"on-sleep", 0, "COMMAND", "", group, "run this with sh before the app sleeps; if it fails the app stays awake",
       text(part, &Part::on_sleep)},
      {"on-wake", 0, "COMMAND", "", group, "run this with sh when the app serves again", text(part, &Part::on_wake)},
  };
}
}  // namespace moult
