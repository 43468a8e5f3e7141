#pragma once
// Descriptors that were passed to the other side and are kept until it said that it has them: a receiver whose table is
// full loses what was passed, and a peer may die before it looked. Both sides of the channel hold one: a worker for
// what it stores (FDSTORE), the master for what it gives to a worker (ADOPT). Pure bookkeeping; closes what it still
// holds when it goes.
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/unique_fd.h"
namespace moult {
class FdCustody {
 public:
  explicit FdCustody(std::size_t most) : most_(most) {}

  // Takes `fd` and leaves it empty. False: full, no id, no fd, or an id that is kept already; `fd` stays the caller's.
  bool keep(ConnectionId, UniqueFd& fd);
  // The other side has it (HELD, ADOPTED): ours is closed, without a shutdown. False: unknown.
  bool acknowledged(ConnectionId);
  // The other side does not want it (DECLINED): it comes back to be resumed. Empty: unknown.
  UniqueFd declined(ConnectionId);
  // The other side is gone, and whatever it did not acknowledge is ours again. Oldest first.
  std::vector<std::pair<ConnectionId, UniqueFd>> take_all();

  int fd(ConnectionId) const;  // to pass it (again); -1: unknown
  std::size_t size() const { return kept_.size(); }
  bool full() const { return kept_.size() >= most_; }

 private:
  std::size_t most_;
  std::map<ConnectionId, UniqueFd> kept_;
};
}  // namespace moult
