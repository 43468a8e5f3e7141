#include "master/report/fleet_json.h"

#include <nlohmann/json.hpp>

#include "master/report/seconds.h"
namespace moult {
namespace {
using Json = nlohmann::ordered_json;

Json settings_json(const FleetPolicy& policy) {
  return {{"lease_permits", policy.permits},
          {"lease_ttl_seconds", seconds(policy.ttl)},
          {"recycle_rate", recycle_rate_text(policy)},
          {"recycle_burst", policy.burst},
          {"min_healthy_percent", policy.minimum_healthy_percent}};
}

Json differing(const FleetPolicy& policy, const FleetPolicy& ruling) {
  const std::string said = settings_that_differ(policy, ruling);
  return said.empty() ? Json(nullptr) : Json(said);
}

Json lease_json(const Permit& permit, StoreTime now) {
  return {{"instance", permit.instance},
          {"fencing_token", permit.token},
          {"held_seconds", seconds(now - permit.granted_at)},
          {"ends_in_seconds", seconds(permit.expires_at - now)}};
}

Json refusal_json(const std::optional<PastRefusal>& refusal, StoreTime now) {
  if (!refusal) return nullptr;
  return {{"reason", name(refusal->why)}, {"ago_seconds", seconds(now - refusal->at)}};
}

Json instance_json(const FleetMember& member, const FleetView& view) {
  const bool silent = vanished(member, view.now);
  return {{"instance", member.name},
          {"state", silent               ? "vanished"
                    : member.wanted == 0 ? "idle"
                                         : "awake"},
          {"wanted", member.wanted},
          {"healthy", silent ? 0 : member.healthy},
          {"heard_seconds_ago", seconds(view.now - member.heard_at)},
          {"last_refusal", refusal_json(member.last_refusal, view.now)},
          {"settings_differ", differing(member.policy, view.ruling.policy)}};
}
}  // namespace

std::string fleet_json(const FleetView& view, const FleetNames& names) {
  Json settings = settings_json(view.ruling.policy);
  settings["of"] = view.ruling.of;
  Json leases = Json::array(), instances = Json::array();
  for (const Permit& permit : view.permits) leases.push_back(lease_json(permit, view.now));
  for (const FleetMember& member : view.members) instances.push_back(instance_json(member, view));
  const Json document{{"fleet", names.fleet},         {"store", names.store},
                      {"tokens", view.tokens},        {"tokens_per_hour", view.tokens_per_hour},
                      {"wanted", view.health.wanted}, {"healthy", view.health.healthy},
                      {"settings", settings},         {"leases", leases},
                      {"instances", instances}};
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}
}  // namespace moult
