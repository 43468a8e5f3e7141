#include "master/control/command.h"

#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/step.h"
namespace moult {
namespace {
using nlohmann::json;

std::optional<Error> unknown_key(const json& frame, std::string_view command,
                                 std::initializer_list<const char*> known) {
  for (const auto& [key, value] : frame.items()) {
    bool found = key == "protocol" || key == "command";
    for (const char* name : known) found = found || key == name;
    if (!found) return Error{std::string(command) + " does not take '" + key.substr(0, 40) + "'"};
  }
  return std::nullopt;
}

Result<bool> flag(const json& frame, const char* key) {
  const auto found = frame.find(key);
  if (found == frame.end()) return false;
  if (!found->is_boolean()) return Error{std::string("'") + key + "' must be true or false"};
  return found->get<bool>();
}

Result<Command> parse_scale(const json& frame) {
  const auto found = frame.find("workers");
  if (found == frame.end() || !found->is_number_unsigned() ||
      found->get<std::uint64_t>() > std::numeric_limits<unsigned>::max())
    return Error{"scale needs 'workers', a whole number"};
  return Command{ScaleCommand{found->get<unsigned>()}};
}

Result<Command> parse_stop(const json& frame) {
  const auto quickly = flag(frame, "quickly");
  if (!quickly) return quickly.error();
  const auto wait = flag(frame, "wait");
  if (!wait) return wait.error();
  return Command{StopCommand{*quickly, *wait}};
}

Result<Command> parse_recycle(const json& frame) {
  const auto found = frame.find("slot");
  if (found == frame.end()) return Command{RecycleCommand{}};
  if (!found->is_number_unsigned() || found->get<std::uint64_t>() > std::numeric_limits<unsigned>::max())
    return Error{"'slot' must be a whole number"};
  return Command{RecycleCommand{found->get<unsigned>()}};
}

Result<Command> parse_events(const json& frame) {
  const auto wait = flag(frame, "wait");
  if (!wait) return wait.error();
  const auto found = frame.find("after");
  if (found == frame.end()) return Command{EventsCommand{0, *wait}};
  if (!found->is_number_unsigned()) return Error{"'after' must be a whole number"};
  return Command{EventsCommand{found->get<std::uint64_t>(), *wait}};
}

Result<Command> parse_run_call(const json& frame) {
  const auto found = frame.find("name");
  if (found == frame.end() || !found->is_string()) return Error{"run_call needs 'name', a string"};
  return Command{RunCallCommand{found->get<std::string>()}};
}

Result<Command> parse_reload(const json& frame) {
  const auto wait = flag(frame, "wait");
  if (!wait) return wait.error();
  return Command{ReloadCommand{*wait}};
}
}  // namespace

Result<Command> parse_command(const json& frame) {
  const auto named = frame.find("command");
  if (named == frame.end() || !named->is_string()) return Error{"a frame needs 'command', a string"};
  const auto& name = named->get_ref<const std::string&>();
  std::optional<Error> stray;
  if (name == "status") {
    if ((stray = unknown_key(frame, name, {}))) return *stray;
    return Command{StatusCommand{}};
  }
  if (name == "version") {
    if ((stray = unknown_key(frame, name, {}))) return *stray;
    return Command{VersionCommand{}};
  }
  if (name == "scale") {
    if ((stray = unknown_key(frame, name, {"workers"}))) return *stray;
    return parse_scale(frame);
  }
  if (name == "stop") {
    if ((stray = unknown_key(frame, name, {"quickly", "wait"}))) return *stray;
    return parse_stop(frame);
  }
  if (name == "reload") {
    if ((stray = unknown_key(frame, name, {"wait"}))) return *stray;
    return parse_reload(frame);
  }
  if (name == "recycle") {
    if ((stray = unknown_key(frame, name, {"slot"}))) return *stray;
    return parse_recycle(frame);
  }
  if (name == "events") {
    if ((stray = unknown_key(frame, name, {"after", "wait"}))) return *stray;
    return parse_events(frame);
  }
  if (name == "run_call") {
    if ((stray = unknown_key(frame, name, {"name"}))) return *stray;
    return parse_run_call(frame);
  }
  if (name == "fleet") {
    if ((stray = unknown_key(frame, name, {}))) return *stray;
    return Command{FleetCommand{}};
  }
  if (name == "sleep" || name == "wake") {
    if ((stray = unknown_key(frame, name, {}))) return *stray;
    return name == "sleep" ? Command{SleepCommand{}} : Command{WakeCommand{}};
  }
  return Error{"no command '" + name.substr(0, 40) +
               "' (commands: status, version, scale, stop, reload, recycle, fleet, events, run_call, sleep, wake)"};
}

json command_json(const Command& command) {
  json frame{{"protocol", control_protocol_version}};
  std::visit(Match{[&](const StatusCommand&) { frame["command"] = "status"; },
                   [&](const VersionCommand&) { frame["command"] = "version"; },
                   [&](const ScaleCommand& c) {
                     frame["command"] = "scale";
                     frame["workers"] = c.workers;
                   },
                   [&](const StopCommand& c) {
                     frame["command"] = "stop";
                     frame["quickly"] = c.quickly;
                     frame["wait"] = c.wait;
                   },
                   [&](const ReloadCommand& c) {
                     frame["command"] = "reload";
                     frame["wait"] = c.wait;
                   },
                   [&](const FleetCommand&) { frame["command"] = "fleet"; },
                   [&](const SleepCommand&) { frame["command"] = "sleep"; },
                   [&](const WakeCommand&) { frame["command"] = "wake"; },
                   [&](const EventsCommand& c) {
                     frame["command"] = "events";
                     frame["after"] = c.after;
                     frame["wait"] = c.wait;
                   },
                   [&](const RunCallCommand& c) {
                     frame["command"] = "run_call";
                     frame["name"] = c.name;
                   },
                   [&](const RecycleCommand& c) {
                     frame["command"] = "recycle";
                     if (c.slot) frame["slot"] = *c.slot;
                   }},
             command);
  return frame;
}
}  // namespace moult
