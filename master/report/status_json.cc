#include "master/report/status_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "master/report/event.h"
#include "master/report/instance_state.h"
#include "master/report/linger_report.h"
#include "master/report/schedule_json.h"
#include "master/report/seconds.h"
#include "master/report/timestamp.h"
namespace moult {
namespace {
using Json = nlohmann::ordered_json;

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

Json known(std::uint64_t bytes) { return bytes == no_limit ? Json(nullptr) : Json(bytes); }

// None: with the replacement that is in hand.
Json hold_ends_in(const HeldBack& hold, MonotonicTime now) {
  return hold.until == never ? Json(nullptr) : Json(seconds(std::max(hold.until - now, Duration::zero())));
}

void add_memory(Json& json, const RecyclingDescription& recycling, WorkerId id, MonotonicTime now) {
  const auto found = recycling.workers.find(id);
  if (found == recycling.workers.end()) return;
  const WorkerMemoryDescription& memory = found->second;
  json["rss_bytes"] = memory.rss_bytes;
  json["boot_rss_bytes"] = memory.boot_rss_bytes;
  json["limit_bytes"] = known(memory.limit_bytes);
  json["hard_limit_bytes"] = known(memory.hard_limit_bytes);
  json["hold"] = memory.hold ? Json(name(memory.hold->why)) : Json(nullptr);
  json["hold_ends_in_seconds"] = memory.hold ? hold_ends_in(*memory.hold, now) : Json(nullptr);
}

Json waiting_json(const std::vector<WaitingSlot>& waiting) {
  Json list = Json::array();
  for (const WaitingSlot& each : waiting)
    list.push_back({{"slot", each.slot},
                    {"failed_boots", each.failed_boots},
                    {"retry_seconds", each.retry_in ? Json(seconds(*each.retry_in)) : Json(nullptr)}});
  return list;
}

Json recycler_json(const RecyclingDescription& recycling) {
  return {{"memory_limit_bytes", recycling.base_bytes > 0 ? Json(recycling.base_bytes) : Json(nullptr)},
          {"headroom_bytes", known(recycling.headroom_bytes)},
          {"min_headroom_bytes", recycling.min_headroom_bytes},
          {"since_last_recycle_seconds",
           recycling.since_last_recycle ? Json(seconds(*recycling.since_last_recycle)) : Json(nullptr)}};
}

Json gate_json(const GateDescription& gate) {
  Json refusals = Json::object();
  for (std::size_t i = 0; i < gate.refusals.size(); ++i) refusals[name(static_cast<Refusal>(i))] = gate.refusals[i];
  return {{"kind", gate.kind},
          {"state", gate.state},
          {"lease", gate.lease_held ? "held" : "free"},
          {"tokens", gate.tokens},
          {"bucket", gate.bucket > 0 ? Json(gate.bucket) : Json(nullptr)},
          {"tokens_per_hour", gate.bucket > 0 ? Json(gate.tokens_per_hour) : Json(nullptr)},
          {"granted", gate.granted},
          {"refusals", refusals},
          {"ungated", gate.ungated},
          {"owed", gate.owed},
          {"leases_lost", gate.leases_lost},
          {"fleet", gate.fleet.empty() ? Json(nullptr) : Json(gate.fleet)},
          {"store", gate.store.empty() ? Json(nullptr) : Json(gate.store)},
          {"trouble", gate.trouble.empty() ? Json(nullptr) : Json(gate.trouble)},
          {"trouble_seconds", gate.trouble.empty() ? Json(nullptr) : Json(seconds(gate.in_trouble))}};
}

Json parking_json(const ParkingDescription& parking) {
  const ParkingCounts& counts = parking.counts;
  return {{"held", parking.held},
          {"callers", parking.callers},
          {"offered", parking.offered},
          {"most", parking.most},
          {"parked", counts.parked},
          {"handed_over", counts.given},
          {"declined", counts.declined},
          {"closed_by_client", counts.closed_by_client},
          {"timed_out", counts.timed_out},
          {"closed_at_stop", counts.closed_at_stop},
          {"refused", counts.refused},
          {"accepted", counts.accepted},
          {"ignored_requests", parking.ignored_requests}};
}

// What is not so now is null.
Json idle_json(const IdleDescription& idle) {
  const auto running = [](Duration left) { return left > Duration::zero() ? Json(seconds(left)) : Json(nullptr); };
  const bool asleep = idle.state == IdleState::asleep;
  return {{"state", name_of(idle.state)},
          {"since_seconds", seconds(idle.since)},
          {"blocked_by", idle.blocked_by ? Json(name_of(*idle.blocked_by)) : Json(nullptr)},
          {"woken_by", idle.woken_by ? Json(name_of(*idle.woken_by)) : Json(nullptr)},
          {"warm", asleep ? Json(idle.warm) : Json(nullptr)},
          {"warm_for_seconds", running(idle.warm_for)},
          {"refuses_for_seconds", running(idle.refuses_for)},
          {"no_sleep_for_seconds", running(idle.no_sleep_for)},
          {"failure", idle.failure.empty() ? Json(nullptr) : Json(idle.failure)},
          {"awake_seconds", seconds(idle.awake)}};
}

Json recent_json(const RecentRecycles& recent) {
  Json list = Json::array();
  for (const RecentRecycle& each : recent)
    list.push_back({{"at", each.at},
                    {"slot", each.slot ? Json(*each.slot) : Json(nullptr)},
                    {"reason", each.reason},
                    {"sentence", each.sentence}});
  return list;
}

Json lifetimes_json(const RecyclingDescription& recycling) {
  const bool any = recycling.lifetimes.samples > 0;
  return {{"samples", recycling.lifetimes.samples},
          {"p10", any ? Json(recycling.lifetimes.p10) : Json(nullptr)},
          {"p50", any ? Json(recycling.lifetimes.p50) : Json(nullptr)},
          {"alarm", recycling.alarm}};
}
}  // namespace

std::string status_json(const Snapshot& s) {
  const SupervisorDescription& d = s.pool;
  const StatusFacts& facts = s.facts;
  const IdleDescription* idle = s.idle ? &*s.idle : nullptr;
  Json json{{"version", facts.version},
            {"name", facts.name},
            {"pid", facts.pid},
            {"generation", d.proven ? d.proven.value : d.candidate.value},
            {"state", name(instance_state(d, idle))},
            {"uptime_seconds", seconds(facts.uptime)},
            {"wanted", d.wanted},
            {"serving", serving_workers(d)}};
  if (!facts.server.empty()) json["server"] = facts.server;
  if (d.candidate != d.proven) json["candidate_generation"] = d.candidate.value;
  json["fork_server_pid"] = d.fork_server_pid > 0 ? Json(d.fork_server_pid) : Json(nullptr);
  json["workers"] = Json::array();
  for (const WorkerDescription& each : d.workers) {
    json["workers"].push_back(worker_json(each));
    add_memory(json["workers"].back(), s.recycling, each.id, facts.now);
  }
  json["waiting_slots"] = waiting_json(d.waiting_slots);
  json["recycler"] = recycler_json(s.recycling);
  if (s.gate.kind) json["gate"] = gate_json(s.gate);
  json["lifetimes"] = lifetimes_json(s.recycling);
  json["recent_recycles"] = s.recent ? recent_json(*s.recent) : Json::array();
  if (s.parking.most > 0) json["parking"] = parking_json(s.parking);
  if (!s.schedule.calls.empty()) json["schedule"] = schedule_json(s.schedule);
  if (s.delivery.patience > Duration::zero()) json["linger"] = linger_json(s.delivery);
  if (idle) json["idle"] = idle_json(*idle);
  json["boot_error"] = d.boot_error.empty() ? Json(nullptr) : Json(d.boot_error);
  json["boot_error_at"] = d.boot_error.empty() ? Json(nullptr) : Json(rfc3339(d.boot_error_at));
  json["boot_error_age_seconds"] = d.boot_error.empty() ? Json(nullptr) : Json(seconds(d.boot_error_age));
  json["log_lines_dropped"] = facts.log_lines_dropped;
  json["events_dropped"] = facts.events_dropped;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}
}  // namespace moult
