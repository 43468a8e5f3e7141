#pragma once
// Which limits the workers of each generation draw from: what a worker weighs when it is ready, put to the settings.
// Pure. Used by MemoryWatch alone.
//
// Code on trial is refused where the settings leave its workers too little to grow; a worker of code that serves
// already is let in whatever it weighs, with limits that are raised if they must be.
#include <map>
#include <optional>
#include <string>

#include "base/ids.h"
#include "recycler/limit.h"
namespace moult {
struct LimitSettings {
  enum class Base { off, given, automatic };  // --memory-limit
  Base base = Base::off;
  std::uint64_t base_bytes = 0;
  double jitter = 0.08;                                   // --limit-jitter
  std::optional<std::uint64_t> spread_bytes, hard_bytes;  // --limit-spread, --hard-limit; none: from the base
  std::uint64_t min_runway_bytes = 0;                     // --min-runway; zero: by what a worker weighs
  Runway runway = Runway::refuse;                         // --runway
};
// What is known of a worker at READY, and of what is around it.
struct Newborn {
  Generation generation;
  std::uint64_t rss_bytes, private_bytes;
};
struct Surroundings {
  std::uint64_t instance_limit_bytes, min_headroom_bytes, fork_server_rss_bytes;
  unsigned workers;
};
struct DrawFrom {
  LimitRange range;
  std::string note;  // for the log; empty: nothing to say
};

class Limits {
 public:
  explicit Limits(const LimitSettings& settings) : settings_(settings) {}
  Result<DrawFrom> on_trial(const Newborn&, const Surroundings&);
  DrawFrom proven(const Newborn&, const Surroundings&);
  void settled(Generation, std::uint64_t rss_bytes);  // of one of its workers, once
  void forget_before(Generation);
  std::uint64_t base_bytes(Generation) const;  // zero: off, or not known yet

 private:
  struct Known {
    std::optional<LimitPolicy> policy;
    SettledRss settled;
    bool said_raised = false;
  };
  LimitPolicy policy_of(std::uint64_t base_bytes) const;
  Result<std::string> find_base(Known&, const Newborn&, const Surroundings&) const;

  LimitSettings settings_;
  std::map<Generation, Known> known_;
};
}  // namespace moult
