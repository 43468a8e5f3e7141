#include "master/report/reload_progress.h"

#include <algorithm>
#include <utility>
namespace moult {
void ReloadProgress::end(const std::string& outcome, const std::string& error) {
  if (!reloading_) return;
  ended_ = ReloadEnd{*reloading_, outcome, error};
  reloading_.reset();
}

bool ReloadProgress::load_started(Generation generation) {
  if (!proven_) return false;
  end("superseded", "");
  reloading_ = generation;
  return true;
}

void ReloadProgress::proven(Generation generation) { proven_ = std::max(proven_, generation); }

void ReloadProgress::loaded_asleep(Generation generation) {
  if (reloading_ == generation) end("succeeded", "");
}

void ReloadProgress::rejected(Generation generation, const std::string& cause) {
  if (reloading_ == generation && proven_ < generation) end("rejected", cause);
}

std::optional<ReloadEnd> ReloadProgress::take_end() {
  const auto is_old = [&](const auto& each) { return each.second < *reloading_; };
  if (reloading_ && proven_ >= *reloading_ && std::ranges::none_of(serving_, is_old)) end("succeeded", "");
  return std::exchange(ended_, std::nullopt);
}
}  // namespace moult
