// The recycler's and the ledger's settings, from the command line: the other half of instance_options.h.
#include <cmath>
#include <random>

#include "base/worker_limits.h"
#include "master/instance_options.h"
#include "recycler/limit.h"
#include "recycler/saturation.h"
namespace moult::options {
namespace {
using namespace std::chrono_literals;

// Nobody knows yet how long one takes. No app boots faster than this, so that the figure is an upper bound.
constexpr Duration quickest_replacement = 1s;

std::uint64_t instance_limit_bytes() {
  const auto look = InstanceMemory().look();
  return look ? look->limit_bytes : 0;
}

// Sizes that are shares of it, or follow from it.
Result<void> limit_is_known(const RecyclingConfig& config) {
  const auto is_share = [](const std::optional<Size>& size) { return size && size->percent > 0; };
  const bool share = config.memory_limit == MemoryLimit::given && config.memory_limit_size.percent > 0;
  if (config.memory_limit != MemoryLimit::automatic && !share && !is_share(config.limit_spread) &&
      !is_share(config.hard_limit) && !is_share(config.min_runway))
    return {};
  const auto look = InstanceMemory().look();
  if (look) return {};
  return Error{"--memory-limit: what this container or machine has cannot be read: " + look.error().message +
               ". Give sizes in bytes or MB"};
}

std::uint64_t bytes(const Size& size) {
  if (size.percent <= 0) return size.bytes;
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(instance_limit_bytes()) * size.percent / 100));
}

std::optional<std::uint64_t> bytes(const std::optional<Size>& size) {
  return size ? std::optional(bytes(*size)) : std::nullopt;
}

LimitSettings::Base base(MemoryLimit limit) {
  switch (limit) {
    case MemoryLimit::off: return LimitSettings::Base::off;
    case MemoryLimit::given: return LimitSettings::Base::given;
    case MemoryLimit::automatic: break;
  }
  return LimitSettings::Base::automatic;
}

LimitSettings limits(const RecyclingConfig& config) {
  return {.base = base(config.memory_limit),
          .base_bytes = bytes(config.memory_limit_size),
          .jitter = config.limit_jitter_percent / 100,
          .spread_bytes = bytes(config.limit_spread),
          .hard_bytes = bytes(config.hard_limit),
          .min_runway_bytes = bytes(config.min_runway).value_or(0),
          .runway = config.runway == RunwayRule::raise ? Runway::raise : Runway::refuse};
}

// A worker's limit leaves it its runway, whatever it weighs; what it weighs nobody knows before the app is loaded.
Result<void> hard_limit_leaves_runway(const LimitSettings& given) {
  LimitPolicy asked;
  asked.min_runway_bytes = given.min_runway_bytes;
  const std::uint64_t runway = min_runway(asked, 0);
  if (given.base == LimitSettings::Base::off || !given.hard_bytes || *given.hard_bytes > runway) return {};
  const auto megabytes = [](std::uint64_t bytes) { return std::to_string(bytes / megabyte) + " MB"; };
  return Error{"--hard-limit " + megabytes(*given.hard_bytes) + " is too low for any worker: its limit leaves it " +
               megabytes(runway) +
               " to grow (--min-runway), above what it weighs. Set it higher, or lower --min-runway"};
}

Replace replace(ReplaceRule rule) {
  switch (rule) {
    case ReplaceRule::automatic: return Replace::by_headroom;
    case ReplaceRule::successor_first: return Replace::successor_first;
    case ReplaceRule::in_place: break;
  }
  return Replace::in_place;
}

RecyclePolicy policy(const RecyclingConfig& config) {
  RecyclePolicy policy;
  policy.limit.jitter = config.limit_jitter_percent / 100;
  const auto urgent_cooldown = config.urgent_cooldown.value_or(std::min<milliseconds>(1s, config.cooldown));
  policy.by_urgency = {{{config.cooldown, 2, true}, {urgent_cooldown, 1, false}, {urgent_cooldown, 1, false}}};
  policy.busy_requests_per_second = config.busy_requests_per_second.value_or(0);
  policy.defer_max = config.defer_max;
  policy.sample_near = config.sample_near;
  policy.sample_far = config.sample_far;
  policy.max_requests = config.max_requests;
  policy.max_requests_jitter = config.max_requests_jitter;
  policy.max_lifetime = config.max_lifetime.value_or(0ms);
  policy.max_lifetime_jitter = config.max_lifetime_jitter;
  policy.alarm = {config.alarm_requests_p10, config.alarm_window};
  return policy;
}

RatePer rate_per(RecycleRate::Per per) {
  switch (per) {
    case RecycleRate::Per::worker: return RatePer::worker;
    case RecycleRate::Per::fleet: return RatePer::fleet;
    case RecycleRate::Per::unlimited: break;
  }
  return RatePer::unlimited;
}

// An urgent one waits for --urgent-wait, then for a random part of it once more (lease/urgency_ladder).
GateFigures gate_figures(const FleetPolicy& fleet, const FleetConfig& config, unsigned workers) {
  GateFigures figures{.permits = fleet.permits, .burst = fleet.burst, .is_shared = config.store.has_value()};
  if (figures.is_shared) figures.longest_ungated_wait = 2 * config.urgent_wait;
  if (fleet.rate_per == RatePer::worker) figures.tokens_per_hour = fleet.tokens_per_hour * workers;
  if (fleet.rate_per == RatePer::fleet) figures.tokens_per_hour = fleet.tokens_per_hour;
  return figures;
}
}  // namespace

MemoryWatchOptions recycling(const Config& config) {
  const RecyclingConfig& given = config.recycling;
  return {.policy = policy(given),
          .limits = limits(given),
          .min_headroom = {given.min_headroom.bytes, given.min_headroom.percent},
          .replace = replace(given.replace),
          .drops_old_code_first = config.workers.reload_low_memory,
          .random_seed = std::random_device{}()};
}

FleetPolicy fleet(const Config& config) {
  const FleetConfig& given = config.fleet;
  return {.permits = given.lease_permits,
          .ttl = given.lease_ttl,
          .tokens_per_hour = given.recycle_rate.per_hour,
          .rate_per = rate_per(given.recycle_rate.per),
          .burst = given.recycle_burst,
          .minimum_healthy_percent = given.min_healthy_percent};
}

Result<void> checked(const Config& config) {
  if (const auto good = check(policy(config.recycling)); !good) return good;
  if (const auto known = limit_is_known(config.recycling); !known) return known;
  const LimitSettings given = limits(config.recycling);
  if (given.base == LimitSettings::Base::given && given.hard_bytes && *given.hard_bytes <= given.base_bytes)
    return Error{"--hard-limit must be above --memory-limit"};
  if (const auto fits = hard_limit_leaves_runway(given); !fits) return fits;
  return affordable(config)(config.workers.count);
}

std::function<Result<void>(unsigned)> affordable(const Config& config) {
  return [policy = fleet(config), shared = config.fleet.store.has_value()](unsigned workers) {
    return check(policy, shared ? most_workers : workers);
  };
}

std::vector<std::string> saturation(const Config& config) {
  const unsigned workers = config.workers.count;
  return saturation_lines(policy(config.recycling), gate_figures(fleet(config), config.fleet, workers),
                          quickest_replacement, workers);
}
}  // namespace moult::options
