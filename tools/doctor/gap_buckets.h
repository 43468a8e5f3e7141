#pragma once
// What workers weighed when they went, by how long ago their instance's last recycle was. Pure.
//
// Who waited for the cooldown goes right behind its end, heavier than those that had not to wait: then the figures do
// not fall with the gap as they else would, and the bucket behind the cooldown stands out above all longer gaps.
#include <string>
#include <vector>

#include "tools/event_history/history.h"
namespace moult {
struct GapBucket {
  double from_seconds, to_seconds;  // the end is not in it; infinite for the last
  std::vector<double> rss;          // bytes, of each
};
struct GapBuckets {
  std::vector<GapBucket> buckets;  // the first: right behind the cooldown; gaps below it are in none
  double excess_bytes = 0;         // of the first's median over the highest median of the longer ones
  double notable_bytes = 0;        // what is more than the width that limits are drawn from
  bool comparable = false;         // enough in the first, and in a longer one
  bool stands_out() const { return comparable && excess_bytes > notable_bytes; }
};
inline constexpr std::size_t fewest_in_bucket = 5;  // to be compared: of fewer the median says little
inline constexpr double limit_spread_share = 0.05;  // --limit-spread: limits differ by that much by themselves

// Of routine recycles over a limit; those under pressure go when others take memory, not by the gap.
GapBuckets gap_buckets(const History&, double cooldown_seconds);
std::vector<std::string> table_of(const GapBuckets&);
}  // namespace moult
