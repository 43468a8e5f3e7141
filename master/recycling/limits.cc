#include "master/recycling/limits.h"
namespace moult {
namespace {
std::string joined(const std::string& first, const std::string& second) {
  return first.empty() ? second : first + "; " + second;
}
}  // namespace

LimitPolicy Limits::policy_of(std::uint64_t base_bytes) const {
  LimitPolicy policy = limit_policy(base_bytes);
  policy.jitter = settings_.jitter;
  policy.spread_bytes = settings_.spread_bytes.value_or(policy.spread_bytes);
  policy.hard_limit_bytes = settings_.hard_bytes.value_or(policy.hard_limit_bytes);
  policy.hard_limit_follows = !settings_.hard_bytes;
  policy.min_runway_bytes = settings_.min_runway_bytes;
  policy.runway = settings_.runway;
  return policy;
}

// Once a generation. Answers with what is to be said of it.
Result<std::string> Limits::find_base(Known& known, const Newborn& newborn, const Surroundings& around) const {
  if (known.policy) return std::string();
  switch (settings_.base) {
    case LimitSettings::Base::off: known.policy = LimitPolicy{}; return std::string();
    case LimitSettings::Base::given: known.policy = policy_of(settings_.base_bytes); return std::string();
    case LimitSettings::Base::automatic: break;
  }
  const AutoTerms terms{around.instance_limit_bytes, around.min_headroom_bytes, around.fork_server_rss_bytes,
                        newborn.rss_bytes,           newborn.private_bytes,     around.workers};
  const auto base = auto_base(terms, policy_of(newborn.rss_bytes));
  if (!base) return base.error();
  known.policy = policy_of(*base);
  return "--memory-limit auto: " + describe(terms, *base);
}

Result<DrawFrom> Limits::on_trial(const Newborn& newborn, const Surroundings& around) {
  Known known;
  const auto note = find_base(known, newborn, around);
  if (!note) return note.error();
  const auto range = limit_range(*known.policy, newborn.rss_bytes);
  if (!range) return range.error();
  known_[newborn.generation] = known;
  if (!range->raised) return DrawFrom{*range, *note};
  known_[newborn.generation].said_raised = true;
  return DrawFrom{*range, joined(*note, raised_text(*known.policy, *range, newborn.rss_bytes))};
}

DrawFrom Limits::proven(const Newborn& newborn, const Surroundings& around) {
  Known& known = known_[newborn.generation];
  auto found = find_base(known, newborn, around);
  std::string note = found ? *found : found.error().message;
  if (!found)  // there is too little memory for what serves already: the least that leaves some runway
    known.policy = policy_of(newborn.rss_bytes + min_runway(policy_of(newborn.rss_bytes), newborn.rss_bytes));
  LimitRange range = raised_limit_range(*known.policy, newborn.rss_bytes);
  if (range.raised && !known.said_raised) {
    known.said_raised = true;
    note = joined(note, raised_text(*known.policy, range, newborn.rss_bytes));
  }
  if (known.settled.bytes && known.policy->base_bytes > 0)
    range = settled_limit_range(range, *known.policy, *known.settled.bytes);
  return {range, note};
}

void Limits::settled(Generation generation, std::uint64_t rss_bytes) {
  const auto known = known_.find(generation);
  if (known != known_.end()) known->second.settled = settle(known->second.settled, rss_bytes);
}

void Limits::forget_before(Generation generation) {
  std::erase_if(known_, [&](const auto& each) { return each.first < generation; });
}

std::uint64_t Limits::base_bytes(Generation generation) const {
  const auto known = known_.find(generation);
  return known != known_.end() && known->second.policy ? known->second.policy->base_bytes : 0;
}
}  // namespace moult
