// Runway and lifetimes: a limit that is too near to what a worker weighs makes short lives, and nothing else shows it.
// Named when both are so: less runway than moult asks for, and lives that are short by the recycler's own alarm.
#include <algorithm>

#include "recycler/lifetimes.h"
#include "recycler/limit.h"
#include "tools/doctor/checks.h"
#include "tools/doctor/measures.h"
#include "tools/event_history/figures.h"
namespace moult {
namespace {
// recycler/limit.cc: the same app weighs some 0.3 MB more or less at each start.
constexpr double weighing_noise_bytes = 1e6;

struct RunwayFigures {
  std::size_t limits = 0;                       // workers of which it is known
  std::size_t too_short = 0;                    // of them
  double lowest = 0, needed = 0, boot_rss = 0;  // bytes, of the worker with the lowest
};
struct Lives {
  std::size_t samples;
  double requests_p10, requests_p50, lifetime_p10, lifetime_p50;
  bool are_short;
};

RunwayFigures runway_of(const History& history) {
  RunwayFigures runway;
  for (const RecycleLine& recycle : history.recycles) {
    if (!recycle.limit_bytes || !recycle.boot_rss_bytes) continue;
    const double boot = static_cast<double>(*recycle.boot_rss_bytes);
    const double has = static_cast<double>(*recycle.limit_bytes) - boot;
    const double needed = static_cast<double>(min_runway(LimitPolicy{}, *recycle.boot_rss_bytes));
    if (has + weighing_noise_bytes < needed) ++runway.too_short;
    if (runway.limits++ == 0 || has < runway.lowest) {
      runway.lowest = has;
      runway.needed = needed;
      runway.boot_rss = boot;
    }
  }
  return runway;
}

Lives lives_of(const History& history) {
  std::vector<double> requests, seconds;
  for (const RecycleLine& recycle : history.recycles) {
    if (!went_because_of_memory(recycle) || !recycle.requests || !recycle.lifetime_seconds) continue;
    requests.push_back(static_cast<double>(*recycle.requests));
    seconds.push_back(*recycle.lifetime_seconds);
  }
  Lives lives{requests.size(),         percentile(requests, 10), percentile(requests, 50),
              percentile(seconds, 10), percentile(seconds, 50),  false};
  lives.are_short = lives.samples >= fewest_samples &&
                    lives.requests_p10 < static_cast<double>(AlarmPolicy{}.requests_p10) &&
                    lives.lifetime_p10 < std::chrono::duration<double>(long_life).count();
  return lives;
}

std::string said(const Lives& lives) {
  if (lives.samples < fewest_samples)
    return counted(lives.samples, "worker", "workers") + " went because of memory: from " +
           std::to_string(fewest_samples) + " on it can be said how long they live.";
  return "Of " + counted(lives.samples, "worker", "workers") + " that went because of memory a tenth served at most " +
         number(lives.requests_p10) + " requests and lived at most " + duration_text(lives.lifetime_p10) +
         "; half of them at most " + number(lives.requests_p50) + " and " + duration_text(lives.lifetime_p50) + ".";
}

std::string said(const RunwayFigures& runway) {
  if (runway.limits == 0) return "No line has a limit and what the worker weighed when it was ready.";
  return "The lowest limit left " + megabytes(runway.lowest) + " to grow above the " + megabytes(runway.boot_rss) +
         " that its worker weighed when it was ready, where moult asks for " + megabytes(runway.needed) + "; " +
         std::to_string(runway.too_short) + " of " + std::to_string(runway.limits) + " had less than is asked for.";
}

// The base whose lowest draw leaves the runway, with the default jitter.
std::string higher_limit(const RunwayFigures& runway) {
  const double lowest = runway.boot_rss + runway.needed, jitter = LimitPolicy{}.jitter;
  return "Raise --memory-limit until the lowest limit is " + megabytes(lowest) + ": with --limit-jitter " +
         number(jitter * 100) + "% that is " + megabytes(lowest / (1 - jitter)) +
         " or more. If the memory is not there, fewer workers with room to grow do better than many without.";
}

void conclude(Check& check, const RunwayFigures& runway, const Lives& lives) {
  if (lives.samples < fewest_samples) {
    check.level = Level::too_few;
  } else if (lives.are_short && runway.too_short > 0) {
    check.level = Level::finding;
    check.title = "the lowest limit is too near to what a worker weighs when it is ready";
    check.next_step = higher_limit(runway);
  } else if (lives.are_short) {
    check.level = Level::note;
    check.verdict += " Lives are short though the limits leave room to grow: the app leaks fast.";
    check.next_step = "Find the leak; until then more memory, or fewer workers with higher limits, make lives longer.";
  } else if (runway.too_short > 0) {
    check.verdict += " Workers live long all the same: no fault.";
  }
}
}  // namespace

Check check_runway(const History& history) {
  const RunwayFigures runway = runway_of(history);
  const Lives lives = lives_of(history);
  Check check{.name = "runway", .title = "runway and lifetimes"};
  check.looks_at =
      "limit - RSS when ready against --min-runway's default (50 MB, or 40 % of that RSS), and requests and lifetimes "
      "of workers that went because of memory against the alarm's defaults (p10 under " +
      std::to_string(AlarmPolicy{}.requests_p10) + " requests and under 1 h, of at least " +
      std::to_string(fewest_samples) + "). Both must be short.";
  check.verdict = said(runway) + " " + said(lives);
  conclude(check, runway, lives);
  check.figures = {{"lowest_runway_bytes", runway.lowest},
                   {"needed_runway_bytes", runway.needed},
                   {"limits", runway.limits},
                   {"limits_too_near", runway.too_short},
                   {"samples", lives.samples},
                   {"requests_p10", lives.requests_p10},
                   {"requests_p50", lives.requests_p50},
                   {"lifetime_p10_seconds", lives.lifetime_p10},
                   {"lifetime_p50_seconds", lives.lifetime_p50}};
  return check;
}
}  // namespace moult
