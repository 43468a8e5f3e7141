#include "master/report/event.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/step.h"
#include "master/report/log_line.h"
#include "master/report/timestamp.h"
namespace moult {
namespace {
using Json = nlohmann::ordered_json;

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string signal_name(int number) {
  const char* abbreviation = sigabbrev_np(number);
  return abbreviation ? "SIG" + std::string(abbreviation) : std::to_string(number);
}

void add_worker(Json& line, const WorkerSubject& worker) {
  line["slot"] = or_null(worker.slot);
  line["pid"] = worker.pid > 0 ? Json(worker.pid) : Json(nullptr);
  line["generation"] = worker.generation.value;
}

void add_exit(Json& line, const Exit& exit) {
  line["exit_status"] = or_null(exit.status);
  line["signal"] = exit.signal ? Json(signal_name(*exit.signal)) : Json(nullptr);
  line["stage"] = exit.stage.empty() ? Json(nullptr) : Json(exit.stage);
  line["errno"] = exit.error != 0 ? Json(exit.error) : Json(nullptr);
}

void add_cause(Json& line, const std::string& cause) {
  if (!cause.empty()) line["cause"] = shortened(cause);
}

// Name and fields of each, in this one place.
struct Fill {
  Json& line;

  void operator()(const MasterStarted& e) const {
    line["version"] = e.version;
    line["pid"] = e.pid;
  }
  void operator()(const MasterStopped& e) const {
    line["exit_status"] = e.exit_status;
    line["uptime_seconds"] = e.uptime_seconds;
  }
  void operator()(const WorkerReadyEvent& e) const { add_worker(line, e.worker); }
  void operator()(const WorkerExited& e) const {
    add_worker(line, e.worker);
    line["state"] = state_name(e.state);
    line["uptime_seconds"] = or_null(e.uptime_seconds);
    add_exit(line, e.exit);
    line["oom_killed"] = or_null(e.oom_killed);
    add_cause(line, e.exit.cause);
  }
  void operator()(const BootFailed& e) const {
    add_worker(line, e.worker);
    add_exit(line, e.exit);
    line["oom_killed"] = or_null(e.oom_killed);
    line["same_cause"] = e.same_cause;
    if (e.same_cause == 0) add_cause(line, e.exit.cause);
  }
  void operator()(const ForkServerGone& e) const {
    line["generation"] = e.generation.value;
    line["pid"] = e.exit.pid > 0 ? Json(e.exit.pid) : Json(nullptr);
    add_exit(line, e.exit);
    add_cause(line, e.exit.cause);
  }
  void operator()(const ReloadStarted& e) const { line["generation"] = e.generation.value; }
  void operator()(const ReloadFinished& e) const {
    line["generation"] = e.generation.value;
    line["outcome"] = e.outcome;
    line["error"] = e.error.empty() ? Json(nullptr) : Json(shortened(e.error));
  }
  void operator()(const EventsDropped& e) const { line["count"] = e.count; }
};

const char* name_of(const Event& event) {
  return std::visit(
      Match{[](const MasterStarted&) { return "master_started"; },
            [](const MasterStopped&) { return "master_stopped"; },
            [](const WorkerReadyEvent&) { return "worker_ready"; }, [](const WorkerExited&) { return "worker_exited"; },
            [](const BootFailed&) { return "boot_failed"; }, [](const ForkServerGone&) { return "fork_server_gone"; },
            [](const ReloadStarted&) { return "reload_started"; },
            [](const ReloadFinished&) { return "reload_finished"; },
            [](const EventsDropped&) { return "events_dropped"; }},
      event);
}
}  // namespace

std::string event_line(const Event& event, const std::string& instance, WallTime at) {
  Json line{{"event", name_of(event)}, {"at", rfc3339(at)}, {"instance", instance}};
  std::visit(Fill{line}, event);
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string state_name(WorkerState state) {
  switch (state) {
    case WorkerState::booting: return "booting";
    case WorkerState::spare: return "spare";
    case WorkerState::serving: return "serving";
    case WorkerState::retiring: return "retiring";
    case WorkerState::terminating: return "terminating";
    case WorkerState::aborting: return "aborting";
    case WorkerState::killed: break;
  }
  return "killed";
}
}  // namespace moult
