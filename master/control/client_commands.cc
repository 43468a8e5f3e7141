#include "master/control/client_commands.h"

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "base/step.h"
#include "master/control/client_streams.h"
#include "master/control/control_client.h"
#include "master/control/fleet_table.h"
#include "master/control/schedule_table.h"
#include "master/control/status_table.h"
#include "master/control/text_table.h"
namespace moult {
namespace {
using nlohmann::json;

int fail(const ClientSurroundings& around, int code, const std::string& why) {
  around.err << "moult: " << why << std::endl;
  return code;
}

int no_connection(const ClientSurroundings& around, const ClientRequest& request, const Error& error) {
  const std::string& path = request.control_path;
  const std::string reason = error.code ? std::strerror(error.code) : error.message;
  if (error.code == EPERM) return fail(around, client_refused, error.message);
  if (error.code == EACCES)
    return fail(around, client_refused, path + ": " + reason + ": ask as the user that moult runs as, or as root");
  return fail(around, client_nobody,
              "no moult answers at " + path + " (" + reason +
                  "): start it with 'moult run', or say which one with -n NAME or --control PATH");
}

// Answered with an outcome, which may take its time.
const char* slow_wish(const Command& command) {
  const auto* reload = std::get_if<ReloadCommand>(&command);
  if (reload && reload->wait) return "reload";
  if (std::holds_alternative<RunCallCommand>(command)) return "call";
  if (std::holds_alternative<SleepCommand>(command)) return "sleep";
  return std::holds_alternative<WakeCommand>(command) ? "wake" : nullptr;
}

bool waits(const Command& command) {
  const auto* reload = std::get_if<ReloadCommand>(&command);
  const auto* stop = std::get_if<StopCommand>(&command);
  return (reload && reload->wait) || (stop && stop->wait);
}

int too_late(const ClientSurroundings& around, const char* what) {
  return fail(around, client_refused, std::string(what) + " within --timeout; it goes on: see 'moult status'");
}

int unanswered(const ClientSurroundings& around, const ClientRequest& request, const NoAnswer& answer) {
  const char* wish = slow_wish(request.command);
  if (!wish) return fail(around, client_nobody, answer.why);
  if (answer.too_late) return too_late(around, ("the " + std::string(wish) + " has not ended").c_str());
  return fail(around, client_refused, "moult ended before the " + std::string(wish) + " did (" + answer.why + ")");
}

int refused(const ClientSurroundings& around, const ClientRequest& request, const RefusedByMaster& answer) {
  const char* wish = slow_wish(request.command);
  if (!wish) return fail(around, client_refused, answer.why);
  const bool traceback = answer.why.find('\n') != std::string::npos;
  return fail(around, client_refused,
              "the " + std::string(wish) + (traceback ? " failed:\n" : " failed: ") + answer.why);
}

int print_stop(const ClientSurroundings& around, const ClientRequest& request, ControlClient& client) {
  if (!waits(request.command)) {
    around.out << "stopping: 'moult stop --wait' waits for the end" << std::endl;
    return client_done;
  }
  if (!client.wait_for_end(request.longest_wait)) return too_late(around, "moult has not stopped");
  around.out << "stopped" << std::endl;
  return client_done;
}

std::string word(const json& result, const char* key) {
  const auto found = result.is_object() ? result.find(key) : result.end();
  if (found == result.end()) return "-";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

using ForPeople = std::string (*)(const json&, std::size_t width);
int print_document(const ClientSurroundings& around, const ClientRequest& request, const json& document,
                   ForPeople for_people) {
  if (request.json) around.out << document.dump(2, ' ', false, json::error_handler_t::replace) << std::endl;
  else around.out << for_people(document, around.width) << std::flush;
  return client_done;
}

int print_status(const ClientSurroundings& around, const ClientRequest& request, const json& status) {
  if (!request.schedule) return print_document(around, request, status, status_table);
  const json& calls = field(status, "schedule");
  const json shown = calls.is_array() ? calls : json::array();
  return print_document(around, request, request.json ? shown : status, schedule_table);
}

int print_call(const ClientSurroundings& around, const ClientRequest& request, const std::string& name,
               const json& ended) {
  if (request.json) around.out << ended.dump(2, ' ', false, json::error_handler_t::replace) << std::endl;
  else around.out << name << ": " << call_in_words(ended) << std::endl;
  return went_well(ended) ? client_done : client_refused;
}

int print(const ClientSurroundings& around, const ClientRequest& request, const json& result, ControlClient& client) {
  return std::visit(
      Match{[&](const StatusCommand&) -> int { return print_status(around, request, result); },
            [&](const RunCallCommand& call) -> int { return print_call(around, request, call.name, result); },
            [&](const EventsCommand&) -> int { return client_done; },  // show_events() has asked
            [&](const FleetCommand&) -> int { return print_document(around, request, result, fleet_table); },
            [&](const VersionCommand&) -> int {
              around.out << "running: moult " << word(result, "version") << ", name " << word(result, "name")
                         << ", pid " << word(result, "pid") << std::endl;
              return client_done;
            },
            [&](const ScaleCommand&) -> int {
              around.out << "workers wanted: " << word(result, "wanted") << std::endl;
              return client_done;
            },
            [&](const StopCommand&) -> int { return print_stop(around, request, client); },
            [&](const RecycleCommand&) -> int {
              around.out << "workers asked to go: " << word(result, "asked")
                         << "; each goes when the cooldown and the budget let it: see 'moult status'" << std::endl;
              return client_done;
            },
            [&](const SleepCommand&) -> int {
              around.out << "asleep: the next caller wakes the app" << std::endl;
              return client_done;
            },
            [&](const WakeCommand&) -> int {
              around.out << "awake: the app serves" << std::endl;
              return client_done;
            },
            [&](const ReloadCommand& reload) -> int {
              if (reload.wait) around.out << "reloaded: generation " << word(result, "generation") << std::endl;
              else around.out << "the reload has begun: 'moult status' shows how it goes" << std::endl;
              return client_done;
            }},
      request.command);
}

ClientOutput output_of(const ClientSurroundings& around, const ClientRequest& request) {
  return {around.out, around.err, around.width > 0, request.json};
}

int ask(const ClientSurroundings& around, const ClientRequest& request) {
  const bool version = std::holds_alternative<VersionCommand>(request.command);
  if (version) around.out << "moult " << around.version << std::endl;
  auto client = ControlClient::connect(request.control_path);
  if (!client && version && !request.was_named) return client_done;  // nobody was asked for
  if (!client) return no_connection(around, request, client.error());
  if (request.watch) return watch_status(*client, output_of(around, request));
  if (std::holds_alternative<EventsCommand>(request.command))
    return show_events(*client, {request.filter, request.last, request.follow}, output_of(around, request));
  const ControlAnswer answer =
      client->ask(request.command, slow_wish(request.command) ? request.longest_wait : control_answer_limit);
  return std::visit(Match{[&](const json& result) { return print(around, request, result, *client); },
                          [&](const RefusedByMaster& why) { return refused(around, request, why); },
                          [&](const NoAnswer& why) { return unanswered(around, request, why); }},
                    answer);
}
}  // namespace

int run_client_command(int argc, const char* const* argv, const ClientSurroundings& around) {
  const auto request = parse_client_request(argc, argv, around.environment);
  if (!request) return fail(around, client_usage, request.error().message);
  if (request->help.empty()) return ask(around, *request);
  around.out << request->help << std::flush;
  return client_done;
}

}  // namespace moult
