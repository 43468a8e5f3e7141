#include "master/connections/tail_watch.h"

#include <utility>

#include "master/connections/send_queue.h"
namespace moult {
TailWatch::TailWatch(uv_loop_t* loop, std::vector<TcpDoor> doors, const TailPolicy& policy, OwnSockets own)
    : doors_(std::move(doors)),
      policy_(policy),
      own_(std::move(own)),
      machine_(loop, Tails{}, policy_, [this](const TailAction& action) { perform(action); }) {}

void TailWatch::begin(bool may_abort) { machine_.post(TailWatchBegins{may_abort}); }

std::size_t TailWatch::end() {
  const std::size_t left = underway(machine_.state()) + machine_.state().unwatched;
  machine_.post(TailWatchEnds{});
  return left;
}

TailDescription TailWatch::describe() const {
  const Tails& tails = machine_.state();
  return {verdict(), underway(tails), stalled(tails), tails.unwatched, failed_closed(tails), tails.counts, trouble_};
}

void TailWatch::perform(const TailAction& action) {
  std::visit(Match{[&](const LookAtTails&) { look(); }, [&](const AbortTail& a) { abort(a.id); }}, action);
}

void TailWatch::look() {
  auto seen = read_all();
  trouble_ = seen ? "" : seen.error().message;
  if (seen) machine_.post(std::move(*seen));
  else machine_.post(TailsUnseen{});
}

// Those that are watched and have no unacknowledged bytes any more are asked for one by one: each that ended well is in
// TIME_WAIT, among thousands that nobody wants to see.
Result<TailsSeen> TailWatch::read_all() {
  auto found = undelivered_at(doors_);
  if (!found) return found.error();
  TailsSeen seen;
  std::map<TailId, DiagnosedSocket> sockets;
  for (const DiagnosedSocket& each : *found) sockets.emplace(each.id(), each);
  for (const auto& [id, tail] : machine_.state().tails) {
    if (sockets.contains(id)) continue;
    const auto again = look_again_at(sockets_.at(id));
    if (!again) return again.error();
    if (*again) sockets.emplace(id, **again);
  }
  std::erase_if(sockets, [&](const auto& each) {
    const bool is_taken = each.second.inode != 0 && own_.is_watched(each.second.inode);
    if (is_taken) seen.taken.push_back(each.first);
    return is_taken;
  });
  sockets_ = std::move(sockets);
  for (const auto& [id, each] : sockets_) seen.readings.push_back({id, each.reading});
  return seen;
}

void TailWatch::abort(TailId id) {
  const DiagnosedSocket& socket = sockets_.at(id);
  const int own = socket.inode == 0 ? -1 : own_.descriptor(socket.inode);
  const bool is_reset = own >= 0 && reset_connection(own);
  machine_.post(TailAbortAnswered{id, is_reset ? AbortAnswer::done : destroy(socket)});
}
}  // namespace moult
