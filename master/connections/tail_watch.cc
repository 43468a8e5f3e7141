#include "master/connections/tail_watch.h"

#include <utility>
namespace moult {
TailWatch::TailWatch(uv_loop_t* loop, std::vector<TcpDoor> doors, const TailPolicy& policy)
    : doors_(std::move(doors)),
      policy_(policy),
      machine_(loop, Tails{}, policy_, [this](const TailAction& action) { perform(action); }) {}

void TailWatch::begin(bool may_abort) { machine_.post(TailWatchBegins{may_abort}); }

std::size_t TailWatch::end() {
  const std::size_t left = underway(machine_.state()) + machine_.state().unwatched;
  machine_.post(TailWatchEnds{});
  return left;
}

TailDescription TailWatch::describe() const {
  const Tails& tails = machine_.state();
  return {verdict(), underway(tails), stalled(tails), tails.unwatched, tails.counts, trouble_};
}

void TailWatch::perform(const TailAction& action) {
  std::visit(Match{[&](const LookAtTails&) { look(); }, [&](const AbortTail& a) { abort(a.id); }}, action);
}

void TailWatch::look() {
  auto readings = read_all();
  trouble_ = readings ? "" : readings.error().message;
  if (readings) machine_.post(TailsSeen{std::move(*readings)});
  else machine_.post(TailsUnseen{});
}

// Those that are watched and have no unacknowledged bytes any more are asked for one by one: each that ended well is in
// TIME_WAIT, among thousands that nobody wants to see.
Result<std::vector<TailReading>> TailWatch::read_all() {
  auto found = undelivered_at(doors_);
  if (!found) return found.error();
  std::map<TailId, DiagnosedSocket> sockets;
  for (const DiagnosedSocket& each : *found) sockets.emplace(each.id(), each);
  for (const auto& [id, tail] : machine_.state().tails) {
    if (sockets.contains(id)) continue;
    const auto again = look_again_at(sockets_.at(id));
    if (!again) return again.error();
    if (*again) sockets.emplace(id, **again);
  }
  sockets_ = std::move(sockets);
  std::vector<TailReading> readings;
  for (const auto& [id, each] : sockets_) readings.push_back({id, each.reading});
  return readings;
}

void TailWatch::abort(TailId id) { machine_.post(TailAbortAnswered{id, destroy(sockets_.at(id))}); }
}  // namespace moult
