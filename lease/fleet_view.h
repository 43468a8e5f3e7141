#pragma once
// What the ledger keeps of permits and instances, and how it looks to a person (`moult fleet status`). Pure values.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lease/fleet_policy.h"
#include "lease/gate.h"
#include "lease/store_clock.h"
namespace moult {
using StoreTime = StoreClock::Time;

// What an instance runs with. Where instances disagree, the settings of the newest master rule for all.
struct FleetSettings {
  FleetPolicy policy;
  std::string of = {};   // the instance
  StoreTime since = {};  // its master's start, by the ledger's clock
  bool operator==(const FleetSettings&) const = default;
};

struct Permit {
  std::string holder;
  AskId operation;
  std::uint64_t token;
  std::string instance;
  unsigned cost;
  StoreTime granted_at, expires_at;
  bool operator==(const Permit&) const = default;
};

struct PastRefusal {
  Refusal why;
  StoreTime at;
  bool operator==(const PastRefusal&) const = default;
};

struct FleetMember {
  std::string name;
  unsigned wanted, healthy;
  StoreTime heard_at;
  FleetPolicy policy = {};                       // what it runs with, whether or not it rules
  StoreTime started = {};                        // as FleetSettings::since
  std::optional<PastRefusal> last_refusal = {};  // of an acquire; `late` is not kept, for it changes nothing
  AskId last_debit = {};                         // so that a debit asked twice is one
  bool operator==(const FleetMember&) const = default;
};

struct FleetHealth {
  std::uint64_t wanted = 0, healthy = 0;  // healthy: less what was granted since the last heartbeats
  bool operator==(const FleetHealth&) const = default;
};

struct FleetView {
  StoreTime now;
  FleetSettings ruling;
  double tokens;           // below zero: debt
  double tokens_per_hour;  // for the whole fleet
  FleetHealth health;
  std::vector<Permit> permits;       // by token
  std::vector<FleetMember> members;  // by name
  bool operator==(const FleetView&) const = default;
};
inline bool vanished(const FleetMember& member, StoreTime now) { return now - member.heard_at >= vanished_after; }
}  // namespace moult
