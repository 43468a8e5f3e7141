#include "tools/doctor/gap_buckets.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "tools/doctor/measures.h"
#include "tools/event_history/figures.h"
namespace moult {
namespace {
std::vector<GapBucket> empty_buckets(double cooldown) {
  // By factors of the cooldown: of 120 s they are 165 s, 10 min, 1 h.
  const double ends[] = {cooldown, cooldown * right_behind, cooldown * 5, cooldown * 30,
                         std::numeric_limits<double>::infinity()};
  std::vector<GapBucket> buckets;
  for (std::size_t i = 0; i + 1 < std::size(ends); ++i) buckets.push_back({ends[i], ends[i + 1], {}});
  return buckets;
}

bool belongs(const RecycleLine& recycle) {
  const bool by_limit = recycle.cause == Cause::limit || recycle.cause == Cause::hard_limit;
  return by_limit && is_routine(recycle) && recycle.gap_seconds && recycle.rss_bytes;
}

void compare(GapBuckets& result) {
  const GapBucket& first = result.buckets.front();
  double longer = 0;
  for (auto bucket = result.buckets.begin() + 1; bucket != result.buckets.end(); ++bucket)
    if (bucket->rss.size() >= fewest_in_bucket) longer = std::max(longer, percentile(bucket->rss, 50));
  result.comparable = longer > 0 && first.rss.size() >= fewest_in_bucket;
  if (result.comparable) result.excess_bytes = percentile(first.rss, 50) - longer;
}
}  // namespace

GapBuckets gap_buckets(const History& history, double cooldown_seconds) {
  GapBuckets result{.buckets = empty_buckets(cooldown_seconds)};
  std::vector<double> limits;
  for (const RecycleLine& recycle : history.recycles) {
    if (!belongs(recycle)) continue;
    if (recycle.limit_bytes) limits.push_back(static_cast<double>(*recycle.limit_bytes));
    for (GapBucket& bucket : result.buckets)
      if (*recycle.gap_seconds >= bucket.from_seconds && *recycle.gap_seconds < bucket.to_seconds)
        bucket.rss.push_back(static_cast<double>(*recycle.rss_bytes));
  }
  result.notable_bytes = limit_spread_share * percentile(std::move(limits), 50);
  compare(result);
  return result;
}

std::vector<std::string> table_of(const GapBuckets& buckets) {
  std::vector<std::string> lines = {"gap to the last recycle   recycles  median RSS    peak RSS"};
  for (const GapBucket& bucket : buckets.buckets) {
    const bool last = bucket.to_seconds == std::numeric_limits<double>::infinity();
    const std::string gap =
        duration_text(bucket.from_seconds) + (last ? " and more" : " to " + duration_text(bucket.to_seconds));
    const double peak = bucket.rss.empty() ? 0 : *std::ranges::max_element(bucket.rss);
    char line[200];
    std::snprintf(line, sizeof line, "%-24.60s %9zu %11.20s %11.20s", gap.c_str(), bucket.rss.size(),
                  bucket.rss.empty() ? "-" : megabytes(percentile(bucket.rss, 50)).c_str(),
                  bucket.rss.empty() ? "-" : megabytes(peak).c_str());
    lines.push_back(line);
  }
  return lines;
}
}  // namespace moult
