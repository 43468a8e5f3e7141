#pragma once
// What a client may ask over the control socket, as values, and their one form on the wire:
//   {"protocol":1,"command":"scale","workers":3}
// Pure. Read by ControlConnection (master), written by ControlClient (a process of its own).
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>

#include "base/result.h"
namespace moult {
// Raised when a frame changes its meaning. Another version is refused, never guessed at.
inline constexpr unsigned control_protocol_version = 1;

struct StatusCommand {};
struct VersionCommand {};
struct ScaleCommand {
  unsigned workers;
};
struct StopCommand {
  bool quickly = false;
  bool wait = false;  // the client stays until the master closes the socket
};
struct ReloadCommand {
  bool wait = false;  // answered when the reload has ended, not when it has begun
};
struct FleetCommand {};  // fleet status
struct EventsCommand {
  std::uint64_t after = 0;  // the number of the last one that the client has; zero: none
  bool wait = false;        // answered when there is a newer one, or after some seconds
};
struct RecycleCommand {
  std::optional<unsigned> slot;  // none: all workers
};
struct RunCallCommand {  // schedule run; answered when the call has ended
  std::string name;
};
struct SleepCommand {};  // both are answered with the outcome
struct WakeCommand {};
using Command = std::variant<StatusCommand, VersionCommand, ScaleCommand, StopCommand, ReloadCommand, RecycleCommand,
                             FleetCommand, EventsCommand, RunCallCommand, SleepCommand, WakeCommand>;

// Unknown commands, unknown keys and wrong types are refused: an older master never half obeys a newer client.
Result<Command> parse_command(const nlohmann::json& frame);
nlohmann::json command_json(const Command&);
}  // namespace moult
