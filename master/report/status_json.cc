#include "master/report/status_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "master/report/event.h"
#include "master/report/instance_state.h"
namespace moult {
namespace {
using Json = nlohmann::ordered_json;

// Milliseconds are enough, and 0.1 is written as 0.1.
double seconds(Duration duration) {
  return std::round(std::chrono::duration<double, std::milli>(duration).count()) / 1000;
}

Json worker_json(const WorkerDescription& worker) {
  Json json{{"slot", worker.slot ? Json(*worker.slot) : Json(nullptr)},
            {"pid", worker.pid > 0 ? Json(worker.pid) : Json(nullptr)},
            {"state", state_name(worker.state)},
            {"generation", worker.generation.value},
            {"in_state_seconds", seconds(worker.in_state)},
            {"uptime_seconds", worker.uptime ? Json(seconds(*worker.uptime)) : Json(nullptr)},
            {"requests", worker.requests},
            {"in_flight", worker.in_flight},
            {"open_connections", worker.open_connections},
            {"upgraded_connections", worker.upgraded_connections},
            {"responses_5xx", worker.responses_5xx}};
  if (!worker.status.empty()) json["status"] = worker.status;
  return json;
}
}  // namespace

std::string status_json(const SupervisorDescription& d, const StatusFacts& facts) {
  Json json{{"version", facts.version},
            {"name", facts.name},
            {"pid", facts.pid},
            {"generation", d.proven ? d.proven.value : d.candidate.value},
            {"state", name(instance_state(d))},
            {"uptime_seconds", seconds(facts.uptime)},
            {"wanted", d.wanted},
            {"serving", serving_workers(d)}};
  if (!facts.server.empty()) json["server"] = facts.server;
  if (d.candidate != d.proven) json["candidate_generation"] = d.candidate.value;
  json["fork_server_pid"] = d.fork_server_pid > 0 ? Json(d.fork_server_pid) : Json(nullptr);
  json["workers"] = Json::array();
  for (const WorkerDescription& each : d.workers) json["workers"].push_back(worker_json(each));
  json["boot_error"] = d.boot_error.empty() ? Json(nullptr) : Json(d.boot_error);
  json["log_lines_dropped"] = facts.log_lines_dropped;
  json["events_dropped"] = facts.events_dropped;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}
}  // namespace moult
