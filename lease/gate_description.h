#pragma once
// A gate as status and metrics show it. A plain value.
#include <array>
#include <cstdint>
#include <string>

#include "lease/answer_times.h"
#include "lease/fleet_policy.h"
#include "lease/gate.h"
namespace moult {
// What --recycle-burst holds; zero where there is no rate.
inline double bucket_of(const FleetPolicy& policy) { return policy.rate_per == RatePer::unlimited ? 0 : policy.burst; }
struct GateDescription {
  const char* kind = nullptr;  // "local", "redis"; null: there is no gate
  const char* state = "ok";    // "ok", "unreachable": the store
  bool lease_held = false;     // by this instance
  double tokens = 0;           // of the fleet, as last heard; below zero: debt
  double bucket = 0;           // what the bucket holds when it is full; zero: there is no rate, or it is not known
  double tokens_per_hour = 0;  // that come into it; zero: not known here (a store knows the fleet's size)
  std::array<std::uint64_t, 5> refusals{};  // indexed by Refusal; the one that an ungated one passed over, too
  std::uint64_t granted = 0;                // by a ledger
  std::uint64_t ungated = 0;                // went ahead without one
  AnswerTimes answer_times = {};            // from the question to its answer, whatever that was
  std::uint64_t owed = 0;                   // of the ungated: not yet debited in the store
  std::uint64_t leases_lost = 0;            // that were held, and had ended when they were to be renewed
  std::string fleet = {}, store = {};       // --fleet-name, and where, without secrets; empty: local
  std::string trouble = {};                 // why the store is unreachable, in one sentence without secrets
  Duration in_trouble = {};                 // for how long
};
}  // namespace moult
