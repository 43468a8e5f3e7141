#include "recycler/limit.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
namespace moult {
namespace {
constexpr std::uint64_t least_runway_bytes = 50 * megabyte;
// The same app weighs some 0.3 MB more or less at each start: what was printed as the smallest that works must work. No
// runway is lost by it, as the lowest limit is lifted to what is needed.
constexpr std::uint64_t weighing_noise_bytes = megabyte;
constexpr std::uint64_t tenth_of_a_megabyte = megabyte / 10;

std::uint64_t less(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

std::uint64_t share(std::uint64_t bytes, double factor) {
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(bytes) * factor));
}

// "460 MB", "554.4 MB".
std::string megabytes(std::uint64_t bytes) {
  char text[40];
  const std::uint64_t tenths = (bytes + tenth_of_a_megabyte / 2) / tenth_of_a_megabyte;
  const auto whole = static_cast<unsigned long long>(tenths / 10), rest = static_cast<unsigned long long>(tenths % 10);
  if (rest) std::snprintf(text, sizeof text, "%llu.%llu MB", whole, rest);
  else std::snprintf(text, sizeof text, "%llu MB", whole);
  return text;
}

std::uint64_t undrawn_lowest(const LimitPolicy& policy) { return share(policy.base_bytes, 1 - policy.jitter); }

// Rounded up to the next tenth of a megabyte: what is printed must work when it is typed.
std::uint64_t smallest_base(const LimitPolicy& policy, std::uint64_t boot_rss_bytes) {
  const double exact = static_cast<double>(boot_rss_bytes + min_runway(policy, boot_rss_bytes)) / (1 - policy.jitter);
  return static_cast<std::uint64_t>(std::ceil(exact / tenth_of_a_megabyte)) * tenth_of_a_megabyte;
}

LimitRange range(const LimitPolicy& policy, std::uint64_t boot_rss_bytes) {
  LimitRange range;
  const std::uint64_t undrawn = undrawn_lowest(policy);
  const std::uint64_t needed = boot_rss_bytes + min_runway(policy, boot_rss_bytes);
  range.raised = undrawn + weighing_noise_bytes < needed;
  range.lowest_bytes = std::max(undrawn, needed);
  range.highest_bytes = std::max(share(policy.base_bytes, 1 + policy.jitter), range.lowest_bytes + policy.spread_bytes);
  range.hard_bytes = policy.hard_limit_bytes;
  // As far above the highest limit as the settings have it above the base.
  if (range.raised && policy.hard_limit_follows && range.highest_bytes >= range.hard_bytes)
    range.hard_bytes =
        range.highest_bytes + std::max(policy.spread_bytes + 1, less(policy.hard_limit_bytes, policy.base_bytes));
  return range;
}

std::string too_little_runway(const LimitPolicy& policy, std::uint64_t boot_rss_bytes) {
  const std::uint64_t lowest = undrawn_lowest(policy);
  return "--memory-limit " + megabytes(policy.base_bytes) + " is too low: a worker weighs " +
         megabytes(boot_rss_bytes) + " when it is ready and its limit may be drawn as low as " + megabytes(lowest) +
         ", which leaves " + megabytes(less(lowest, boot_rss_bytes)) + " of runway where " +
         megabytes(min_runway(policy, boot_rss_bytes)) + " are asked for (--min-runway). The smallest that works is " +
         megabytes(smallest_base(policy, boot_rss_bytes)) + "; --runway raise lifts the lowest limit instead";
}

std::string above_hard_limit(const LimitRange& range) {
  return "--hard-limit " + megabytes(range.hard_bytes) + " is too low: the limit may be drawn as high as " +
         megabytes(range.highest_bytes) + ". Set it above that, or lower --memory-limit, --limit-jitter or " +
         "--limit-spread";
}
}  // namespace

std::uint64_t min_runway(const LimitPolicy& policy, std::uint64_t boot_rss_bytes) {
  if (policy.min_runway_bytes > 0) return policy.min_runway_bytes;
  return std::max(least_runway_bytes, boot_rss_bytes / 10 * 4);
}

Result<LimitRange> limit_range(const LimitPolicy& policy, std::uint64_t boot_rss_bytes) {
  if (policy.base_bytes == 0) return LimitRange{};
  const LimitRange drawn = range(policy, boot_rss_bytes);
  if (drawn.raised && policy.runway == Runway::refuse) return Error{too_little_runway(policy, boot_rss_bytes)};
  if (drawn.highest_bytes >= drawn.hard_bytes) return Error{above_hard_limit(drawn)};
  return drawn;
}

LimitRange raised_limit_range(const LimitPolicy& policy, std::uint64_t boot_rss_bytes) {
  if (policy.base_bytes == 0) return {};
  LimitRange drawn = range(policy, boot_rss_bytes);
  drawn.highest_bytes = std::min(drawn.highest_bytes, drawn.hard_bytes - 1);
  drawn.lowest_bytes = std::min(drawn.lowest_bytes, drawn.highest_bytes);
  return drawn;
}

LimitRange settled_limit_range(LimitRange range, const LimitPolicy& policy, std::uint64_t settled_rss_bytes) {
  const std::uint64_t wanted = settled_rss_bytes + min_runway(policy, settled_rss_bytes);
  range.lowest_bytes = std::clamp(wanted, range.lowest_bytes, range.highest_bytes);
  return range;
}

std::string raised_text(const LimitPolicy& policy, const LimitRange& range, std::uint64_t boot_rss_bytes) {
  return "a worker weighs " + megabytes(boot_rss_bytes) + " when it is ready: its lowest limit is raised from " +
         megabytes(undrawn_lowest(policy)) + " to " + megabytes(range.lowest_bytes) + ", so that it can grow by " +
         megabytes(min_runway(policy, boot_rss_bytes)) +
         " (--min-runway). The --memory-limit that needs no raising is " +
         megabytes(smallest_base(policy, boot_rss_bytes));
}

std::uint64_t draw_limit(const LimitRange& range, Random& random) {
  if (range.highest_bytes == no_limit) return no_limit;
  const double width = static_cast<double>(range.highest_bytes - range.lowest_bytes);
  return range.lowest_bytes + static_cast<std::uint64_t>(width * random.unit());
}

Result<std::uint64_t> auto_base(const AutoTerms& terms, const LimitPolicy& policy) {
  const std::uint64_t taken = terms.min_headroom_bytes + terms.fork_server_rss_bytes +
                              (terms.workers + std::uint64_t{1}) * terms.boot_private_bytes;
  const std::uint64_t each = less(terms.instance_limit_bytes, taken) / std::max(terms.workers, 1u);
  const std::uint64_t base = terms.boot_rss_bytes + each;
  const std::uint64_t runway = min_runway(policy, terms.boot_rss_bytes);
  if (each >= runway) return base;
  return Error{"--memory-limit auto: " + describe(terms, base) + " leaves each worker " + megabytes(each) +
               " to grow where " + megabytes(runway) + " are asked for (--min-runway): fewer workers, or more memory"};
}

std::string describe(const AutoTerms& terms, std::uint64_t base_bytes) {
  return megabytes(base_bytes) + " = " + megabytes(terms.boot_rss_bytes) + " (a worker at READY) + (" +
         megabytes(terms.instance_limit_bytes) + " (limit) - " + megabytes(terms.min_headroom_bytes) +
         " (--min-headroom) - " + megabytes(terms.fork_server_rss_bytes) + " (fork server) - " +
         std::to_string(terms.workers + 1) + " x " + megabytes(terms.boot_private_bytes) +
         " (a worker's own at READY)) / " + std::to_string(terms.workers) + " workers";
}

bool has_settled(std::uint64_t requests, Duration lifetime) {
  return requests >= settled_after_requests || lifetime >= settled_after;
}

SettledRss settle(SettledRss settled, std::uint64_t rss_bytes) {
  return {std::min(settled.bytes.value_or(rss_bytes), rss_bytes)};
}
}  // namespace moult
