#pragma once
// The commands that go on: `moult status --watch` and `moult events -f`. In a process of its own; they end when they
// are interrupted, when nobody reads what they print, or when the moult that they ask is gone.
#include <cstddef>
#include <iosfwd>
#include <optional>

#include "master/control/client_exit.h"
#include "master/control/control_client.h"
#include "master/control/event_filter.h"
namespace moult {
inline constexpr Duration watched_every = std::chrono::seconds(1);  // the master's own pace (snapshot_every)
// The master answers one that waits for events after some seconds, with or without any.
inline constexpr Duration events_answer_limit = std::chrono::seconds(15);

struct ClientOutput {
  std::ostream& out;
  std::ostream& err;
  bool terminal;  // behind `out`: pictures are drawn over each other
  bool json;
};

// A table each second on the same screen; where that is no terminal one below the other; or a JSON line each.
int watch_status(ControlClient&, const ClientOutput&);

struct EventsWish {
  EventFilter filter;
  std::optional<std::size_t> last;  // of those that have been; none: all that the master still has
  bool follow;
};
int show_events(ControlClient&, const EventsWish&, const ClientOutput&);
}  // namespace moult
