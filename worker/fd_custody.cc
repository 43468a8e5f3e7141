#include "worker/fd_custody.h"
namespace moult {
bool FdCustody::keep(ConnectionId id, UniqueFd& fd) {
  if (full() || !id || !fd) return false;
  return kept_.try_emplace(id, std::move(fd)).second;  // moves only if it inserts
}

bool FdCustody::acknowledged(ConnectionId id) { return kept_.erase(id) > 0; }

UniqueFd FdCustody::declined(ConnectionId id) {
  auto kept = kept_.extract(id);
  return kept.empty() ? UniqueFd() : std::move(kept.mapped());
}

std::vector<std::pair<ConnectionId, UniqueFd>> FdCustody::take_all() {
  std::vector<std::pair<ConnectionId, UniqueFd>> all;
  all.reserve(kept_.size());
  for (auto& [id, fd] : kept_) all.emplace_back(id, std::move(fd));
  kept_.clear();
  return all;
}

int FdCustody::fd(ConnectionId id) const {
  const auto kept = kept_.find(id);
  return kept == kept_.end() ? -1 : kept->second.get();
}
}  // namespace moult
