#include "master/report/event.h"

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/step.h"
#include "master/report/log_line.h"
#include "master/report/seconds.h"
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

void add_worker(Json& line, const WorkerName& worker) {
  add_worker(line, WorkerSubject{worker.slot, worker.pid, worker.generation});
}

Json known(std::uint64_t bytes) { return bytes == no_limit ? Json(nullptr) : Json(bytes); }

// What was known when it was decided.
void add_evidence(Json& line, const Evidence& e) {
  line["rss_bytes"] = e.rss_bytes;
  line["limit_bytes"] = known(e.limit_bytes);
  line["hard_limit_bytes"] = known(e.hard_limit_bytes);
  line["boot_rss_bytes"] = e.boot_rss_bytes;
  line["headroom_bytes"] = known(e.headroom_bytes);
  const auto over = static_cast<std::int64_t>(e.rss_bytes) - static_cast<std::int64_t>(e.limit_bytes);
  line["margin_bytes"] = e.limit_bytes == no_limit ? Json(nullptr) : Json(over);
}

void add_pressure(Json& line, const Evidence& e) {
  if (e.needs_bytes == 0) return;
  line["frees_bytes"] = e.frees_bytes;
  line["needs_bytes"] = e.needs_bytes;
}

const char* replace_name(Order order) {
  switch (order) {
    case Order::successor_first: return "successor-first";
    case Order::together: return "together";
    case Order::in_place: break;
  }
  return "in-place";
}

Json holds(const std::vector<HeldFor>& held) {
  Json list = Json::array();
  for (const HeldFor& each : held) list.push_back({{"reason", name(each.why)}, {"seconds", seconds(each.lasted)}});
  return list;
}

void add_recycle(Json& line, const RecycleRecord& r, bool own_fleet) {
  add_worker(line, r.worker);
  line["reason"] = name(r.why.cause);
  line["urgency"] = name(r.why.urgency);
  add_evidence(line, r.why.evidence);
  add_pressure(line, r.why.evidence);
  line["freed_bytes"] = r.freed_bytes;
  line["requests"] = r.requests;
  line["lifetime_seconds"] = seconds(r.lifetime);
  line["gap_seconds"] = r.gap ? Json(seconds(*r.gap)) : Json(nullptr);
  line["fleet_gap_seconds"] = own_fleet ? line["gap_seconds"] : Json(nullptr);
  line["cooldown_seconds"] = seconds(r.why.evidence.cooldown);
  line["over_limit_seconds"] = seconds(r.over_limit);
  line["over_hard_seconds"] = seconds(r.over_hard);
  line["holds"] = holds(r.holds);
  line["lease_wait_seconds"] = seconds(r.gate.waited);
  line["fencing_token"] = r.gate.fencing_token;
  line["gated"] = r.gate.gated;
  line["replace"] = replace_name(r.order);
  line["handed_over"] = r.handed_over;
  line["drain_outcome"] = name(r.drain);
  line["drain_seconds"] = seconds(r.drained_for);
}

void add_lifetimes(Json& line, const LifetimeFigures& f) {
  line["samples"] = f.samples;
  line["requests_p10"] = f.p10;
  line["requests_p50"] = f.p50;
  line["lifetime_p10_seconds"] = seconds(f.p10_lifetime);
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
  void operator()(const WorkerRecycled& e) const { add_recycle(line, e.recycle, e.own_fleet); }
  void operator()(const HoldStarted& e) const {
    add_worker(line, e.worker);
    line["reason"] = name(e.why);
    line["until"] = e.until ? Json(rfc3339(*e.until)) : Json(nullptr);
    add_evidence(line, e.evidence);
    add_pressure(line, e.evidence);
    line["requests"] = e.evidence.requests;
    line["requests_per_second"] = std::round(e.evidence.requests_per_second * 10) / 10;
    line["cooldown_seconds"] = seconds(e.evidence.cooldown);
  }
  void operator()(const HoldEnded& e) const {
    add_worker(line, e.worker);
    line["reason"] = name(e.held.why);
    line["held_seconds"] = seconds(e.held.lasted);
  }
  void operator()(const GateUngated& e) const {
    add_worker(line, e.worker);
    line["reason"] = name(e.why.cause);
    line["urgency"] = name(e.why.urgency);
  }
  void operator()(const AlarmFiring& e) const { add_lifetimes(line, e.lifetimes); }
  void operator()(const AlarmCleared& e) const { add_lifetimes(line, e.lifetimes); }
  void operator()(const PressureFutile& e) const { line["for_seconds"] = e.for_seconds; }
  void operator()(const ScheduledCallEvent& e) const {
    line["name"] = e.call.name;
    line["due"] = rfc3339(e.call.due);
    line["status"] = or_null(e.call.status);
    line["duration_seconds"] = seconds(e.call.took);
    line["outcome"] = name(e.call.outcome);
    line["by_hand"] = e.call.by_hand;
    if (!e.call.why.empty()) line["cause"] = shortened(e.call.why);
    if (!e.call.holder.empty()) line["holder"] = e.call.holder;
  }
  void operator()(const LingersAborted& e) const {
    line["during"] = name(e.why);
    line["connections"] = e.connections;
    line["stalled_seconds"] = seconds(e.patience);
  }
  void operator()(const FailedClosed& e) const {
    line["during"] = name(e.why);
    line["connections"] = e.connections;
    line["cause"] = e.cause;
    line["error"] = e.trouble.empty() ? Json(nullptr) : Json(shortened(e.trouble));
  }
  void operator()(const FellAsleep& e) const {
    line["reason"] = name_of(e.why);
    line["took_seconds"] = seconds(e.took);
    line["awake_seconds"] = seconds(e.awake_for);
  }
  void operator()(const WokeUp& e) const {
    line["caller"] = name_of(e.caller);
    line["latency_seconds"] = seconds(e.latency);
    line["asleep_seconds"] = seconds(e.asleep_for);
  }
  void operator()(const FailedWake& e) const {
    line["caller"] = name_of(e.caller);
    line["latency_seconds"] = seconds(e.after);
    line["retry_in_seconds"] = seconds(e.retry_in);
    add_cause(line, e.cause);
  }
  void operator()(const FailedStop& e) const {
    line["reason"] = name_of(e.why);
    line["took_seconds"] = seconds(e.after);
    line["retry_in_seconds"] = seconds(e.retry_in);
    add_cause(line, e.cause);
  }
  void operator()(const EventsDropped& e) const { line["count"] = e.count; }
};

const char* name_of(const Event& event) {
  return std::visit(Match{[](const MasterStarted&) { return "master_started"; },
                          [](const MasterStopped&) { return "master_stopped"; },
                          [](const WorkerReadyEvent&) { return "worker_ready"; },
                          [](const WorkerExited&) { return "worker_exited"; },
                          [](const BootFailed&) { return "boot_failed"; },
                          [](const ForkServerGone&) { return "fork_server_gone"; },
                          [](const ReloadStarted&) { return "reload_started"; },
                          [](const ReloadFinished&) { return "reload_finished"; },
                          [](const WorkerRecycled&) { return "worker_recycled"; },
                          [](const HoldStarted&) { return "hold_started"; },
                          [](const HoldEnded&) { return "hold_ended"; },
                          [](const GateUngated&) { return "gate_ungated"; },
                          [](const AlarmFiring&) { return "alarm_firing"; },
                          [](const AlarmCleared&) { return "alarm_cleared"; },
                          [](const PressureFutile&) { return "pressure_futile"; },
                          [](const ScheduledCallEvent&) { return "scheduled_call"; },
                          [](const LingersAborted&) { return "linger_aborted"; },
                          [](const FailedClosed&) { return "fail_closed"; },
                          [](const FellAsleep&) { return "slept"; },
                          [](const WokeUp&) { return "woke"; },
                          [](const FailedWake&) { return "wake_failed"; },
                          [](const FailedStop&) { return "stop_failed"; },
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
