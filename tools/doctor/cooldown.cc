// The cooldown hold: between two recycles an instance waits, and a worker that crosses its hard limit meanwhile must
// not. Named when a worker weighed more than its hard limit for long, went right behind the end of a long cooldown, and
// the cooldown was what held it: by its own line, or, where that does not say, by the weights of those that went then.
#include <algorithm>
#include <limits>

#include "tools/doctor/checks.h"
#include "tools/doctor/gap_buckets.h"
#include "tools/doctor/measures.h"
#include "tools/event_history/figures.h"
namespace moult {
namespace {
// An urgent one is told to go within sample + --urgent-cooldown + twice --urgent-wait: 5.1 s by default. Twice that.
constexpr double long_over_hard_seconds = 10;

struct HeldOver {
  std::size_t workers = 0;
  double heaviest_bytes = 0, its_hard_limit = 0, its_gap = 0, longest_over_hard = 0;
};

bool was_over_hard(const RecycleLine& recycle) {
  return recycle.rss_bytes && recycle.hard_limit_bytes && *recycle.rss_bytes >= *recycle.hard_limit_bytes;
}

bool cooldown_was_long(const RecycleLine& recycle) {
  return recycle.cooldown_seconds.value_or(default_cooldown_seconds) >= long_over_hard_seconds;
}

bool held_long(const RecycleLine& recycle, const GapBuckets& buckets) {
  if (!recycle.held_by_cooldown_seconds || !recycle.over_hard_seconds) return buckets.stands_out();
  return *recycle.held_by_cooldown_seconds >= long_over_hard_seconds &&
         *recycle.over_hard_seconds >= long_over_hard_seconds;
}

bool went_behind_a_cooldown(const RecycleLine& recycle, double cooldown) {
  if (!recycle.gap_seconds) return false;
  return is_right_behind(*recycle.gap_seconds, cooldown) ||
         is_right_behind(*recycle.gap_seconds, recycle.cooldown_seconds.value_or(cooldown));
}

HeldOver held_over(const History& history, const GapBuckets& buckets, double cooldown) {
  HeldOver held;
  for (const RecycleLine& recycle : history.recycles) {
    if (!was_over_hard(recycle) || !cooldown_was_long(recycle) || !went_behind_a_cooldown(recycle, cooldown) ||
        !held_long(recycle, buckets))
      continue;
    ++held.workers;
    held.longest_over_hard = std::max(held.longest_over_hard, recycle.over_hard_seconds.value_or(0));
    const double rss = static_cast<double>(*recycle.rss_bytes);
    if (rss <= held.heaviest_bytes) continue;
    held.heaviest_bytes = rss;
    held.its_hard_limit = static_cast<double>(*recycle.hard_limit_bytes);
    held.its_gap = *recycle.gap_seconds;
  }
  return held;
}

std::string said(const HeldOver& held) {
  if (held.workers == 0) return "The cooldown held nobody over its hard limit.";
  return "The cooldown held " + counted(held.workers, "worker", "workers") + " over " +
         (held.workers == 1 ? "its hard limit" : "their hard limits") + ", for up to " +
         duration_text(held.longest_over_hard) + ": the heaviest weighed " + megabytes(held.heaviest_bytes) +
         " where its hard limit was " + megabytes(held.its_hard_limit) + ", and went " + duration_text(held.its_gap) +
         " after the last one.";
}

std::string said(const GapBuckets& buckets) {
  const std::string heavier = "the median of those that went right behind the cooldown is " +
                              megabytes(buckets.excess_bytes) + " above that of any longer gap";
  if (buckets.stands_out()) return " Weights show it: " + heavier + ".";
  if (buckets.comparable) return " Weights do not stand out right behind it.";
  return " Too few went right behind it for their weights to be compared.";
}

nlohmann::ordered_json json_of(const GapBuckets& buckets) {
  auto list = nlohmann::ordered_json::array();
  for (const GapBucket& bucket : buckets.buckets) {
    nlohmann::ordered_json entry = {{"from_seconds", bucket.from_seconds}, {"to_seconds", bucket.to_seconds}};
    if (bucket.to_seconds == std::numeric_limits<double>::infinity()) entry["to_seconds"] = nullptr;
    entry["recycles"] = bucket.rss.size();
    entry["median_rss_bytes"] = percentile(bucket.rss, 50);
    entry["peak_rss_bytes"] = percentile(bucket.rss, 100);
    list.push_back(entry);
  }
  return list;
}
}  // namespace

Check check_cooldown(const History& history) {
  const double cooldown = shown_cooldown_seconds(history);
  const GapBuckets buckets = gap_buckets(history, cooldown);
  const HeldOver held = held_over(history, buckets, cooldown);
  Check check{.name = "cooldown", .title = "what workers weigh right behind a cooldown"};
  check.looks_at =
      "RSS by the gap to the instance's last recycle; workers over their hard limit for 10 s or more (twice "
      "what an urgent recycle may take with the defaults) while a cooldown held them. Weights stand out "
      "when they are above those of all longer gaps by more than limits differ (--limit-spread, 5 %).";
  check.verdict = said(held) + said(buckets);
  check.table = table_of(buckets);
  if (held.workers > 0) {
    check.level = Level::finding;
    check.title = "the cooldown held workers over their hard limit";
    check.next_step =
        "Let the cooldown end when a worker crosses its hard limit: --urgent-cooldown 1s (the default), and "
        "a --hard-limit that leaves the container room.";
  } else if (buckets.stands_out()) {
    check.level = Level::note;
    check.verdict += " That is what the cooldown costs; hard limits were kept.";
  } else if (!buckets.comparable) {
    check.level = Level::too_few;
  }
  check.figures = {{"held_over_hard_limit", held.workers},  {"longest_over_hard_seconds", held.longest_over_hard},
                   {"peak_rss_bytes", held.heaviest_bytes}, {"stands_out", buckets.stands_out()},
                   {"excess_bytes", buckets.excess_bytes},  {"notable_bytes", buckets.notable_bytes},
                   {"gap_buckets", json_of(buckets)}};
  return check;
}
}  // namespace moult
