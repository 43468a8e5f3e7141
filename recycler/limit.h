#pragma once
// From what a worker weighs when it is born to the limit at which it must go. Pure.
//
// Runway is what a worker may grow before it must go. A limit that leaves too little makes short lives and a storm of
// recycles, so it is refused at start, with the smallest base that works; nobody has to find it by trying.
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "recycler/policy.h"
namespace moult {
struct LimitRange {
  std::uint64_t lowest_bytes = no_limit, highest_bytes = no_limit;  // each worker draws its own in between
  std::uint64_t hard_bytes = no_limit;
  bool raised = false;  // the settings alone would leave too little runway, by more than noise: to be said
};

// The runway that is asked for, for a worker that weighs so much.
std::uint64_t min_runway(const LimitPolicy&, std::uint64_t boot_rss_bytes);
// At start and at a reload. Refused: one sentence with the figures and what to do.
Result<LimitRange> limit_range(const LimitPolicy&, std::uint64_t boot_rss_bytes);
// At a respawn, when refusing would mean not to serve: lifts what must be lifted, but no given hard limit.
LimitRange raised_limit_range(const LimitPolicy&, std::uint64_t boot_rss_bytes);
// The lowest limit, lifted to leave the runway above what workers weigh once they have warmed up; never the highest. Of
// an app that leaks from the start that weight is leak as well, which must not buy its successors a higher limit.
LimitRange settled_limit_range(LimitRange, const LimitPolicy&, std::uint64_t settled_rss_bytes);
// What to say when a range was raised.
std::string raised_text(const LimitPolicy&, const LimitRange&, std::uint64_t boot_rss_bytes);
std::uint64_t draw_limit(const LimitRange&, Random&);

// --memory-limit auto: what the instance has, shared out. The pages that workers share with the fork server are paid
// once; one more worker is there while one is replaced.
struct AutoTerms {
  std::uint64_t instance_limit_bytes, min_headroom_bytes, fork_server_rss_bytes;
  std::uint64_t boot_rss_bytes, boot_private_bytes;
  unsigned workers;
};
Result<std::uint64_t> auto_base(const AutoTerms&, const LimitPolicy&);
std::string describe(const AutoTerms&, std::uint64_t base_bytes);  // the sum with its terms, one line

// What the workers of one generation weigh once they have warmed up: the least that any of them weighed then, so that
// one that leaks from the start does not pass for normal.
struct SettledRss {
  std::optional<std::uint64_t> bytes;
};
inline constexpr std::uint64_t settled_after_requests = 50;
inline constexpr Duration settled_after = std::chrono::seconds(60);
bool has_settled(std::uint64_t requests, Duration lifetime);
// `rss_bytes` of a worker of this generation, read once: the first time that has_settled().
SettledRss settle(SettledRss, std::uint64_t rss_bytes);
}  // namespace moult
