#include "tools/correlate/correlation.h"

#include <algorithm>

#include "base/random.h"
#include "master/report/timestamp.h"
#include "tools/event_history/figures.h"
namespace moult {
namespace {
constexpr std::uint64_t most_looks = 50'000'000;  // at a shifted error: about a second

// The times that lie within the window of some recycle, as stretches that do not touch.
class Near {
 public:
  Near(const std::vector<WallTime>& recycles, Duration window) {
    for (const WallTime at : recycles) {
      if (ends_.empty() || at - window > ends_.back()) {
        begins_.push_back(at - window);
        ends_.push_back(at + window);
      } else {
        ends_.back() = at + window;
      }
    }
  }
  bool has(WallTime at) const {
    const auto next = std::ranges::upper_bound(begins_, at);
    return next != begins_.begin() && at <= ends_[static_cast<std::size_t>(next - begins_.begin()) - 1];
  }

 private:
  std::vector<WallTime> begins_, ends_;
};

std::string too_few(const Correlation& c) {
  const double windows = std::chrono::duration<double>(c.to - c.from) / c.window;
  if (c.recycles < fewest_recycles || c.errors < fewest_errors)
    return counted(c.recycles, "recycle", "recycles") + " and " + counted(c.errors, "error", "errors") + ": at least " +
           std::to_string(fewest_recycles) + " and " + std::to_string(fewest_errors) + " are needed";
  if (windows < fewest_windows)
    return "the log spans " + number(windows) + " times the window only: at least " + number(fewest_windows) +
           " are needed; a shorter --window may do";
  return "";
}

void permute(Correlation& c, const Near& near, const std::vector<WallTime>& errors) {
  Random random{c.seed};
  const Duration length = c.to - c.from;
  std::uint64_t as_many = 0, sum = 0;
  for (unsigned i = 0; i < c.permutations; ++i) {
    const Duration shift = random.up_to(length);
    std::size_t within = 0;
    for (const WallTime at : errors) {
      // So that no sum leaves the range of the clock: moments may be centuries apart.
      if (near.has(c.to - at > shift ? at + shift : at - (length - shift))) ++within;
    }
    sum += within;
    if (within >= c.within) ++as_many;
  }
  c.expected = static_cast<double>(sum) / c.permutations;
  c.p = static_cast<double>(1 + as_many) / (1.0 + c.permutations);
}
}  // namespace

Correlation correlate(const std::vector<WallTime>& recycles, const std::vector<WallTime>& all_errors, WallTime first,
                      WallTime last, const CorrelationSettings& settings) {
  Correlation c{.window = settings.window, .from = first - settings.window, .to = last + settings.window};
  std::vector<WallTime> errors;
  std::ranges::copy_if(all_errors, std::back_inserter(errors), [&](WallTime at) { return at >= c.from && at < c.to; });
  c.recycles = recycles.size();
  c.errors = errors.size();
  c.errors_outside = all_errors.size() - errors.size();
  c.seed = settings.seed;
  c.too_few = too_few(c);
  if (!c.too_few.empty()) return c;
  const Near near(recycles, settings.window);
  c.within = static_cast<std::size_t>(std::ranges::count_if(errors, [&](WallTime at) { return near.has(at); }));
  const auto affordable = static_cast<unsigned>(std::min<std::uint64_t>(most_looks / errors.size(), most_permutations));
  c.permutations = std::min(settings.permutations, std::max(fewest_permutations, affordable));
  permute(c, near, errors);
  return c;
}

std::string too_silent(const Correlation& c, WallTime silent_from, WallTime silent_to) {
  const double silent = in_seconds(silent_to - silent_from), log = in_seconds(c.to - c.from);
  if (silent <= longest_silent_share * log) return "";
  return "nothing was told for " + duration_text(silent) + " of the log's " + duration_text(log) + " (" +
         rfc3339(silent_from) + " to " + rfc3339(silent_to) +
         "): moult did not run then, or a clock was wrong. Give the part of the log before or after it";
}
}  // namespace moult
