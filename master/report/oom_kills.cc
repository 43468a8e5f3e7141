#include "master/report/oom_kills.h"

#include <csignal>
namespace moult {
std::optional<std::uint64_t> OomKills::read() const {
  const auto kills = memory_.oom_kills();
  return kills ? std::optional(*kills) : std::nullopt;
}

void OomKills::look() {
  if (const auto now = read()) seen_ = now;
}

std::optional<bool> OomKills::killed(WorkerState state_before, const Exit& exit) {
  if (exit.signal != SIGKILL || state_before == WorkerState::killed) return false;
  const auto now = read();
  if (!now || !seen_) return std::nullopt;
  if (*now <= *seen_) return false;
  ++*seen_;
  ++explained_;
  return true;
}
}  // namespace moult
