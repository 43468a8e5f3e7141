#pragma once
// Do a canary's errors come near recycles more often than chance explains? Pure: the seed decides all that is random.
//
// Statistic: how many errors lie within +-W of some recycle (W: `window`).
// Null: the errors have nothing to do with the recycles. Each permutation moves all errors by the same random time,
// around the log as on a circle: how they cluster stays, and so does how recycles cluster; only what binds them is
// lost. Errors that were scattered one by one would not do: two things that each come in bursts would seem bound too
// often. p = (1 + permutations with at least as many within) / (1 + permutations). In a short log it cannot be small: a
// shift by less than W leaves most pairs as they were.
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
namespace moult {
struct CorrelationSettings {
  // What a recycle can do to a client it has done by then: --graceful-timeout (30 s) and as long for a client to give
  // up.
  Duration window = std::chrono::seconds(60);
  unsigned permutations = 9'999;
  std::uint64_t seed = 1;
};
inline constexpr double significant = 0.01;
inline constexpr unsigned fewest_permutations = 999, most_permutations = 1'000'000;  // p must be able to be significant
// Of one burst of fewer than five nobody can say whether it is chance.
inline constexpr std::size_t fewest_recycles = 5, fewest_errors = 5;
// Of a log that is silent for longer than this, most of it is a time in which moult did not run, or that a wrong clock
// made up. Errors that are moved there are near nothing, so that all that comes in the rest would seem bound.
inline constexpr double longest_silent_share = 0.9;
inline constexpr double fewest_windows =
    20;  // in the log's length: in a shorter one many of the shifts are by less than W

struct Correlation {
  Duration window;
  WallTime from{}, to{};  // the log, and W more at both ends
  std::size_t recycles = 0, errors = 0;
  std::size_t errors_outside = 0;  // before or after the log: left out
  std::string too_few;             // not empty: why nothing can be said; what follows is not known then
  std::size_t within = 0;
  double expected = 0;  // the permutations' mean
  double p = 1;
  unsigned permutations = 0;  // fewer than asked for where there are very many errors
  std::uint64_t seed = 0;
  double lift() const { return expected > 0 ? static_cast<double>(within) / expected : 0; }
  bool is_significant() const { return too_few.empty() && p < significant; }
};

// `recycles` and `errors` sorted; `first` and `last`: the log's first and last event.
Correlation correlate(const std::vector<WallTime>& recycles, const std::vector<WallTime>& errors, WallTime first,
                      WallTime last, const CorrelationSettings&);
// Why nothing can be said of a log in which nothing was told between these two; empty: it can.
std::string too_silent(const Correlation&, WallTime silent_from, WallTime silent_to);
}  // namespace moult
