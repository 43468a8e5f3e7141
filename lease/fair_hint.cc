#include "lease/fair_hint.h"

#include <algorithm>
namespace moult {
namespace {
// What is missing of a whole token takes the hint: so long does a whole one.
Duration token_spread(const Refused& refused, double tokens) {
  const double missing = std::max(1 - tokens, 1e-9);
  const double spread = static_cast<double>(refused.retry_after.count()) / missing * token_spread_part;
  return Duration(static_cast<Duration::rep>(std::min(spread, static_cast<double>(most_token_spread.count()))));
}
}  // namespace

Refused fair_hint(const Refused& refused, Urgency urgency, double tokens, Random& random) {
  if (urgency != Urgency::routine) return refused;
  if (refused.why == Refusal::no_tokens)
    return {refused.why, refused.retry_after + random.up_to(token_spread(refused, tokens))};
  if (refused.why != Refusal::lease_held) return refused;
  const auto part = random.between(least_of_lease_hint, 1);
  return {refused.why, Duration(static_cast<Duration::rep>(static_cast<double>(refused.retry_after.count()) * part))};
}
}  // namespace moult
