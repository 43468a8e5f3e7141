#include "master/control/command_runner.h"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/step.h"
#include "master/control/control_frame.h"
namespace moult {
namespace {
using Answer = std::optional<CommandResult>;

CommandResult outcome_result(const ReloadOutcome& outcome) {
  if (!outcome.succeeded) return Error{outcome.error};
  return R"({"generation":)" + std::to_string(outcome.generation.value) + "}";
}

std::function<void(Result<void>)> state_for(const char* state, std::function<void(CommandResult)> later) {
  return [state, later = std::move(later)](const Result<void>& outcome) {
    if (!outcome) return later(outcome.error());
    later(std::string(R"({"idle":")") + state + R"("})");
  };
}

Answer reload(Operator& wishes, const ReloadCommand& command, const std::string& asked_by,
              std::function<void(CommandResult)> later) {
  auto finished = [wait = command.wait, later = std::move(later)](const ReloadOutcome& outcome) {
    if (wait) later(outcome_result(outcome));
  };
  const auto begun = wishes.reload(asked_by, std::move(finished));
  if (!begun) return begun.error();
  if (command.wait) return std::nullopt;
  return CommandResult(R"({"begun":true})");
}
}  // namespace

Answer run_command(Operator& wishes, const ControlIdentity& identity, const Command& command,
                   const std::string& asked_by, std::function<void(CommandResult)> later) {
  return std::visit(
      Match{[&](const StatusCommand&) -> Answer { return CommandResult(wishes.status()); },
            [&](const VersionCommand&) -> Answer {
              return CommandResult(
                  frame_of({{"version", identity.version}, {"name", identity.name}, {"pid", ::getpid()}}));
            },
            [&](const ScaleCommand& c) -> Answer {
              const auto scaled = wishes.scale(asked_by, c.workers);
              if (!scaled) return scaled.error();
              return CommandResult(R"({"wanted":)" + std::to_string(*scaled) + "}");
            },
            [&](const StopCommand& c) -> Answer {
              if (c.quickly) wishes.stop_quickly(asked_by);
              else wishes.stop(asked_by);
              return CommandResult(R"({"begun":true})");
            },
            [&](const FleetCommand&) -> Answer {
              wishes.fleet(std::move(later));
              return std::nullopt;
            },
            [&](const EventsCommand& c) -> Answer {
              wishes.events(c, std::move(later));
              return std::nullopt;
            },
            [&](const RunCallCommand& c) -> Answer {
              const auto begun = wishes.run_call(asked_by, c.name, std::move(later));
              if (!begun) return begun.error();
              return std::nullopt;
            },
            [&](const SleepCommand&) -> Answer {
              wishes.sleep(asked_by, state_for("asleep", std::move(later)));
              return std::nullopt;
            },
            [&](const WakeCommand&) -> Answer {
              wishes.wake(asked_by, state_for("active", std::move(later)));
              return std::nullopt;
            },
            [&](const RecycleCommand& c) -> Answer {
              const auto asked = wishes.recycle(asked_by, c.slot);
              if (!asked) return asked.error();
              return CommandResult(R"({"asked":)" + std::to_string(*asked) + "}");
            },
            [&](const ReloadCommand& c) -> Answer { return reload(wishes, c, asked_by, std::move(later)); }},
      command);
}
}  // namespace moult
