#pragma once
// Why the last load or boot failed, for as long as it is still true. Pure.
//
// A cause stands until the slot that it befell (any slot, for a load; any slot or a spare that waits, for a spare) is
// served by code at least as new for stable_after. So a crash loop does not flicker in the status, and a rejected
// reload is not forgotten because the old code goes on.
#include <optional>
#include <string>

#include "base/clock.h"
#include "master/pool/pool.h"
namespace moult {
struct Trouble {
  Generation generation;
  std::optional<unsigned> slot;  // none: the app did not load, or a spare could not start
  std::string cause;             // may have newlines
  MonotonicTime at{};
  bool of_a_spare = false;
  WallTime wall{};  // the same moment as `at`, for people
};
bool overcome(const Trouble&, const Pool&, Duration stable_after, MonotonicTime now);
}  // namespace moult
