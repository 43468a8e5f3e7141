#pragma once
// The fleet's ledger as a document (`moult fleet status --json`). Pure.
//   {"fleet","store","tokens","tokens_per_hour","wanted","healthy",
//    "settings":{"of","lease_permits","lease_ttl_seconds","recycle_rate","recycle_burst","min_healthy_percent"},
//    "leases":[{"instance","fencing_token","held_seconds","ends_in_seconds"}],
//    "instances":[{"instance","state","wanted","healthy","heard_seconds_ago","last_refusal","settings_differ"}]}
// An instance's state: "awake", "idle" (asleep or stopped: it wants nobody), "vanished" (not heard for three
// heartbeats: it counts as wanted and not healthy).
// `settings_differ` is a sentence (settings_that_differ()), or null.
#include <string>

#include "lease/fleet_view.h"
namespace moult {
struct FleetNames {
  std::string fleet, store;  // as people read them; without secrets
};
std::string fleet_json(const FleetView&, const FleetNames&);
}  // namespace moult
