#pragma once
// Checks the grants that a fleet was given, whoever gave them, against what its settings allow. It knows nothing of the
// ledger: it sees fencing tokens and who held what from when to when.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lease/fleet_policy.h"
namespace moult {
struct SeenGrant {
  std::uint64_t token;            // the store's time in microseconds, or later by one where two fell into one
  MonotonicTime heard, released;  // held in the store at least from one to the other
};

// The first violation, in words.
inline std::optional<std::string> violation(std::vector<SeenGrant> grants, unsigned most_at_once,
                                            double tokens_per_hour, unsigned burst) {
  std::vector<std::pair<MonotonicTime, int>> changes;
  for (const SeenGrant& grant : grants) changes.emplace_back(grant.heard, 1), changes.emplace_back(grant.released, -1);
  std::ranges::sort(changes);  // in one moment the releases come first
  int held = 0;
  for (const auto& [when, change] : changes)
    if ((held += change) > static_cast<int>(most_at_once))
      return std::to_string(held) + " at once where " + std::to_string(most_at_once) + " may be";

  std::ranges::sort(grants, {}, &SeenGrant::token);
  double level = burst;
  for (std::size_t i = 0; i < grants.size(); ++i) {
    if (i > 0 && grants[i].token == grants[i - 1].token)
      return "the token " + std::to_string(grants[i].token) + " twice";
    const double hours = i > 0 ? static_cast<double>(grants[i].token - grants[i - 1].token) / 3.6e9 : 0;
    level = std::min<double>(burst, level + tokens_per_hour * hours) - 1;
    if (level < -1e-3) return "grant " + std::to_string(i) + " is more than rate times time and burst";
  }
  return std::nullopt;
}
}  // namespace moult
