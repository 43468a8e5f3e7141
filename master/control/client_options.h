#pragma once
// The command line of the commands that speak to a running moult:
//   moult status [--json] [--watch] · events [-f] [--event NAME] [--slot N] [--pid N] [--reason R] [--last N] · scale N
//   · stop [--now] [--wait] [--timeout T] · reload [--wait] [--timeout T] · recycle [SLOT] · sleep [--timeout T] ·
//   wake [--timeout T] · fleet status [--json] · schedule ls [--json] · schedule run NAME [--timeout T] · version
// each with --control PATH or -n NAME. Reads its arguments and the given environment only.
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "master/control/command.h"
#include "master/control/event_filter.h"
namespace moult {
// How long `--wait` waits when --timeout does not say: a reload of many workers goes one by one, each with its grace.
inline constexpr Duration default_longest_wait = std::chrono::hours(1);

// `schedule run` waits for the call, which may have a timeout of 24 h and a store to ask.
inline constexpr Duration longest_call_wait = std::chrono::hours(25);

inline constexpr std::size_t shown_before_following = 10;  // as tail -f does

// The value of an environment variable, or null. A parameter, so that a test can say what it is.
using EnvironmentLookup = std::function<const char*(const char* name)>;

struct ClientRequest {
  Command command;
  std::string control_path;
  bool was_named = false;  // the user said which instance; else it is the default one
  bool json = false;
  Duration longest_wait = default_longest_wait;
  bool watch = false;               // status: again and again
  bool follow = false;              // events: and those to come
  EventFilter filter = {};          // events
  std::optional<std::size_t> last;  // events: of those that have been, so many
  bool schedule = false;            // status: of it, the schedule
  std::string help;                 // not empty: print it, ask nobody
};

bool is_client_command(std::string_view name);

// `argv[0]` is the command's name. Which socket: --control, else -n, else MOULT_CONTROL, else MOULT_NAME, else "moult".
Result<ClientRequest> parse_client_request(int argc, const char* const* argv, const EnvironmentLookup&);

// "90", "1.5", "250ms", "30s", "5m", "2h".
Result<Duration> parse_wait(const std::string& text);
}  // namespace moult
