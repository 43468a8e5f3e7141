// What the keeper does while the app sleeps: part of connection_keeper.h.
#include <utility>

#include "master/connections/connection_keeper.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

// How long the rest of a request head is waited for that comes in parts: longer than any line takes for a packet that
// was lost once. And how often it is looked for.
constexpr Duration part_patience = 1s;
constexpr std::uint64_t part_look_ms = 20;
}  // namespace

void ConnectionKeeper::sleep(bool sleeps) {
  if (sleeps) return machine_.post(Sleeps{});
  // Whoever has said a part is a caller like others now.
  for (const auto& [id, until] : std::exchange(parts_, {}))
    if (const auto kept = kept_.find(id); kept != kept_.end() && kept->second.watch)
      kept->second.watch->want(UV_READABLE);
  uv_timer_stop(parts_timer_.get());
  machine_.post(Wakes{});
}

void ConnectionKeeper::came(UniqueFd fd) {
  const ConnectionId id{++last_id_};
  kept_[id] = {std::move(fd), WorkerId{}, 0, nullptr};
  machine_.post(Came{id});
}

// False: its client is a caller.
bool ConnectionKeeper::is_ignored(ConnectionId id, Kept& kept) {
  const Parking& parking = machine_.state();
  if (!parking.sleeps || parking.ends || serves()) return false;
  switch (ignored_.hear(kept.fd.get())) {
    case IgnoredAnswers::Heard::caller: return false;
    case IgnoredAnswers::Heard::part: return waits_for_the_rest(id, kept);
    case IgnoredAnswers::Heard::answered:
      parts_.erase(id);
      kept.watch->want(UV_READABLE);
      return true;
    case IgnoredAnswers::Heard::cut_off:
    case IgnoredAnswers::Heard::answered_last: break;
  }
  parts_.erase(id);
  kept.watch.reset();
  refusals_.let_go(std::move(kept.fd));
  machine_.post(ClientHungUp{id});  // or wants it so
  return true;
}

bool ConnectionKeeper::waits_for_the_rest(ConnectionId id, Kept& kept) {
  const MonotonicTime now = monotonic_now(loop_);
  if (now >= parts_.emplace(id, now + part_patience).first->second) return false;
  kept.watch->want(0);
  if (!uv_is_active(reinterpret_cast<uv_handle_t*>(parts_timer_.get())))
    uv_timer_start(
        parts_timer_.get(), [](uv_timer_t* timer) { static_cast<ConnectionKeeper*>(timer->data)->hear_parts(); },
        part_look_ms, part_look_ms);
  return true;
}

void ConnectionKeeper::hear_parts() {
  for (const auto& [id, until] : std::map(parts_)) {
    const auto kept = kept_.find(id);
    if (kept == kept_.end() || !kept->second.watch) parts_.erase(id);
    else hear_client(id);
  }
  if (parts_.empty()) uv_timer_stop(parts_timer_.get());
}
}  // namespace moult
