#include "master/control/client_options.h"
#include "base/control_path.h"
#include "base/worker_limits.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cxxopts.hpp>
#include <limits>
#include <optional>
#include <vector>

namespace moult {
namespace {
Result<std::string> default_control_path(const std::string& name, const EnvironmentLookup& environment) {
  const char* runtime_dir = environment("XDG_RUNTIME_DIR");
  return control_path(name, {runtime_dir ? runtime_dir : "", ::geteuid()});
}

struct Known {
  const char* name;
  const char* purpose;
};
constexpr std::array known{Known{"status", "show what the running moult and its workers do"},
                           Known{"events", "show what has happened, and with -f what happens"},
                           Known{"scale", "set the number of workers"},
                           Known{"stop", "stop the running moult: gracefully, or with --now"},
                           Known{"reload", "load the app's code anew and replace the workers"},
                           Known{"recycle", "replace the worker of a slot, or all workers, one after the other"},
                           Known{"sleep", "put the app to sleep until somebody calls, and wait until it is asleep"},
                           Known{"wake", "wake the app, and wait until a worker serves"},
                           Known{"fleet", "show what the fleet's budget allows: moult fleet status"},
                           Known{"schedule", "show the scheduled calls, or make one now: moult schedule ls | run NAME"},
                           Known{"version", "print the version of this program and of the running moult"}};

void add_events(cxxopts::Options& options) {
  auto add = options.add_options();
  add("f,follow", "go on with what happens, until interrupted");
  add("json", "print each event as a line of JSON");
  add("event", "only events of this name; may be given several times", cxxopts::value<std::vector<std::string>>(),
      "NAME");
  add("slot", "only those about the worker of this slot", cxxopts::value<std::string>(), "N");
  add("pid", "only those about this process", cxxopts::value<std::string>(), "PID");
  add("reason", "only those with this reason: no_tokens, limit, ...", cxxopts::value<std::string>(), "REASON");
  add("last", "begin with so many of those that have been (default: all, with -f 10)", cxxopts::value<std::string>(),
      "N");
}

cxxopts::Options options_of(const std::string& command, const char* purpose) {
  cxxopts::Options options("moult " + command, purpose);
  auto add = options.add_options();
  add("control", "the control socket (default: by name; MOULT_CONTROL)", cxxopts::value<std::string>(), "PATH");
  add("n,name", "the name of the instance (default: moult; MOULT_NAME)", cxxopts::value<std::string>(), "NAME");
  add("h,help", "print this");
  if (command == "status" || command == "fleet" || command == "schedule") add("json", "print the document as JSON");
  if (command == "status") add("watch", "show it anew each second, until interrupted");
  if (command == "events") add_events(options);
  if (command == "stop") add("now", "do not wait for requests in flight");
  if (command == "stop" || command == "reload") {
    add("wait", "wait until it has ended, and say how");
    add("timeout", "how long --wait waits (seconds, or ms s m h; default 1h)", cxxopts::value<std::string>(), "T");
  }
  if (command == "sleep" || command == "wake")
    add("timeout", "how long to wait for it (seconds, or ms s m h; default 1h)", cxxopts::value<std::string>(), "T");
  if (command == "recycle") {
    options.positional_help("[SLOT]");
    add("slot", "", cxxopts::value<std::vector<std::string>>());
    options.parse_positional("slot");
  }
  if (command == "fleet") {
    options.positional_help("status");
    add("what", "", cxxopts::value<std::vector<std::string>>());
    options.parse_positional("what");
  }
  if (command == "schedule") {
    add("timeout", "how long run waits for the call (seconds, or ms s m h; default: until it has ended)",
        cxxopts::value<std::string>(), "T");
    options.positional_help("ls | run NAME");
    add("what", "", cxxopts::value<std::vector<std::string>>());
    options.parse_positional("what");
  }
  if (command == "scale") {
    options.positional_help("N");
    add("workers", "", cxxopts::value<std::vector<std::string>>());
    options.parse_positional("workers");
  }
  return options;
}

Result<std::string> socket_path(const cxxopts::ParseResult& given, const EnvironmentLookup& environment,
                                bool& was_named) {
  was_named = true;
  if (given.count("control")) return checked_control_path(given["control"].as<std::string>());
  if (given.count("name")) return default_control_path(given["name"].as<std::string>(), environment);
  if (const char* path = environment("MOULT_CONTROL"); path && *path) return checked_control_path(path);
  if (const char* name = environment("MOULT_NAME"); name && *name) return default_control_path(name, environment);
  was_named = false;
  return default_control_path(default_instance_name, environment);
}

std::optional<unsigned> whole_number(const std::string& text) {
  unsigned number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

Error no_such_slot() {
  return {"recycle takes one slot, a whole number (see 'moult status'), or nothing for all workers"};
}

Result<Command> recycle_command(const cxxopts::ParseResult& given) {
  if (!given.count("slot")) return Command{RecycleCommand{}};
  const auto slots = given["slot"].as<std::vector<std::string>>();
  const auto slot = slots.size() == 1 ? whole_number(slots.front()) : std::nullopt;
  if (slot) return Command{RecycleCommand{slot}};
  return no_such_slot();
}

Result<Command> fleet_command(const cxxopts::ParseResult& given) {
  const auto what = given.count("what") ? given["what"].as<std::vector<std::string>>() : std::vector<std::string>();
  if (what == std::vector<std::string>{"status"}) return Command{FleetCommand{}};
  return Error{"fleet takes one word: moult fleet status"};
}

Result<Command> schedule_command(const cxxopts::ParseResult& given) {
  const auto what = given.count("what") ? given["what"].as<std::vector<std::string>>() : std::vector<std::string>();
  if (what == std::vector<std::string>{"ls"}) return Command{StatusCommand{}};
  if (what.size() == 2 && what[0] == "run") return Command{RunCallCommand{what[1]}};
  return Error{"schedule takes ls, or run and a name: moult schedule ls | run NAME"};
}

Result<std::optional<unsigned>> number_option(const cxxopts::ParseResult& given, const char* name) {
  if (!given.count(name)) return std::optional<unsigned>();
  const auto number = whole_number(given[name].as<std::string>());
  if (!number) return Error{std::string("--") + name + " takes a whole number"};
  return number;
}

Result<void> read_events(const cxxopts::ParseResult& given, ClientRequest& request) {
  request.follow = given.count("follow") > 0;
  if (given.count("event")) request.filter.names = given["event"].as<std::vector<std::string>>();
  if (given.count("reason")) request.filter.reason = given["reason"].as<std::string>();
  const auto slot = number_option(given, "slot"), pid = number_option(given, "pid"),
             last = number_option(given, "last");
  for (const auto* number : {&slot, &pid, &last})
    if (!*number) return number->error();
  request.filter.slot = *slot;
  request.filter.pid = *pid;
  if (*last) request.last = **last;
  else if (request.follow) request.last = shown_before_following;
  return check(request.filter);
}

Error no_number_of_workers() {
  return {"scale needs the number of workers, a whole number from " + std::to_string(fewest_workers) + " to " +
          std::to_string(most_workers) + ": moult scale N"};
}

// "-1": for cxxopts it is a flag.
bool is_negative_number(std::string_view argument) {
  return argument.size() > 1 && argument[0] == '-' && argument.find_first_not_of("0123456789.", 1) == argument.npos;
}

Result<Command> command_of(const std::string& name, const cxxopts::ParseResult& given) {
  if (name == "version") return Command{VersionCommand{}};
  if (name == "stop") return Command{StopCommand{given.count("now") > 0, given.count("wait") > 0}};
  if (name == "reload") return Command{ReloadCommand{given.count("wait") > 0}};
  if (name == "status") return Command{StatusCommand{}};
  if (name == "events") return Command{EventsCommand{}};
  if (name == "sleep") return Command{SleepCommand{}};
  if (name == "wake") return Command{WakeCommand{}};
  if (name == "recycle") return recycle_command(given);
  if (name == "fleet") return fleet_command(given);
  if (name == "schedule") return schedule_command(given);
  const auto numbers =
      given.count("workers") ? given["workers"].as<std::vector<std::string>>() : std::vector<std::string>();
  if (const auto workers = numbers.size() == 1 ? whole_number(numbers.front()) : std::nullopt)
    return Command{ScaleCommand{*workers}};
  return no_number_of_workers();
}

// cxxopts throws; its exceptions end here.
Result<ClientRequest> parse(const Known& command, int argc, const char* const* argv,
                            const EnvironmentLookup& environment) {
  const std::string name = command.name;
  const bool negative = std::any_of(argv + 1, argv + argc, is_negative_number);
  if (negative && name == "scale") return no_number_of_workers();
  if (negative && name == "recycle") return no_such_slot();
  cxxopts::Options options = options_of(name, command.purpose);
  const auto given = options.parse(argc, argv);
  ClientRequest request;
  if (given.count("help")) {
    request.help = options.help();
    return request;
  }
  if (!given.unmatched().empty())
    return Error{name + " does not take '" + given.unmatched().front() + "': see moult " + name + " --help"};
  auto read = command_of(name, given);
  if (!read) return read.error();
  request.command = *read;
  request.json =
      (name == "status" || name == "fleet" || name == "events" || name == "schedule") && given.count("json") > 0;
  request.schedule = name == "schedule";
  if (request.schedule) request.longest_wait = longest_call_wait;
  request.watch = name == "status" && given.count("watch") > 0;
  if (name == "events")
    if (const auto events = read_events(given, request); !events) return events.error();
  const bool waits = name == "stop" || name == "reload" || name == "sleep" || name == "wake" || name == "schedule";
  if (waits && given.count("timeout")) {
    const auto wait = parse_wait(given["timeout"].as<std::string>());
    if (!wait) return wait.error();
    request.longest_wait = *wait;
  }
  auto path = socket_path(given, environment, request.was_named);
  if (!path) return path.error();
  request.control_path = *path;
  return request;
}
}  // namespace

bool is_client_command(std::string_view name) {
  return std::any_of(known.begin(), known.end(), [&](const Known& command) { return name == command.name; });
}

Result<ClientRequest> parse_client_request(int argc, const char* const* argv, const EnvironmentLookup& environment) {
  const std::string name = argc > 0 ? argv[0] : "";
  for (const Known& command : known) {
    if (name != command.name) continue;
    try {
      return parse(command, argc, argv, environment);
    } catch (const std::exception& error) {
      return Error{name + ": " + error.what() + ": see moult " + name + " --help"};
    }
  }
  return Error{"no command '" + name + "'"};
}

Result<Duration> parse_wait(const std::string& text) {
  struct Unit {
    const char* name;
    double seconds;
  };
  constexpr std::array units{Unit{"", 1}, Unit{"ms", 0.001}, Unit{"s", 1}, Unit{"m", 60}, Unit{"h", 3600}};
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string suffix = read.ec == std::errc() ? std::string(read.ptr) : "?";
  constexpr double longest_seconds = 365.0 * 24 * 3600;
  for (const Unit& unit : units) {
    const double seconds = number * unit.seconds;
    if (suffix == unit.name && seconds > 0 && seconds <= longest_seconds)
      return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  }
  return Error{"--timeout " + text.substr(0, 40) + " is no time: give seconds, or a number with ms, s, m or h"};
}
}  // namespace moult
