#pragma once
// First retry at once, then a doubling delay with a cap, each stretched by up to a tenth, so that what failed together
// does not retry together. The randomness is the core's own state.
#include <algorithm>

#include "base/clock.h"
#include "base/random.h"
namespace moult {
struct BackoffPolicy {
  Duration first, cap;
};
struct Backoff {
  unsigned failures = 0;
  MonotonicTime retry_at{};  // the past: try at once
};

inline constexpr double backoff_jitter = 0.1;

inline Backoff failed(Backoff b, const BackoffPolicy& policy, MonotonicTime now, Random& random) {
  if (b.failures == 0) return {1, now};
  const Duration delay = std::min(policy.cap, policy.first * (1u << std::min(b.failures - 1, 16u)));
  const Duration jitter = random.up_to(std::chrono::duration_cast<Duration>(delay * backoff_jitter));
  return {b.failures + 1, now + delay + jitter};
}

// Where nobody is missed meanwhile, the free first retry is not taken.
inline Backoff failed_unhurried(Backoff b, const BackoffPolicy& policy, MonotonicTime now, Random& random) {
  b.failures = std::max(b.failures, 1u);
  return failed(b, policy, now, random);
}
}  // namespace moult
