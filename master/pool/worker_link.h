#pragma once
// The master's end of one worker, whatever launched it. Made by a Launcher, owned by the Supervisor until `gone`.
// Two forms: ChannelLink (forked by a fork server, speaks the contract) and NotifyLink (any command, speaks sd_notify
// or nothing). Everything happens on the loop's thread; no callback is made from inside a call.
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/ids.h"
#include "base/unique_fd.h"
#include "master/pool/exit.h"
#include "worker/scoreboard_memory.h"
namespace moult {
enum class Drain { handover, close, own };  // what happens to its idle connections when it retires (DESIGN §7)
enum class Adopters { some, none };         // whether what a retiring worker gives up is parked, for others to serve

// What a worker says of client connections, for ConnectionKeeper.
struct ConnectionEvents {
  // FDSTORE: it gives up an idle one, under a number of its own; to be answered with hold() or decline(). No fd: it was
  // lost on the way.
  std::function<void(WorkerId, std::uint64_t its_number, UniqueFd)> stored;
  std::function<void(WorkerId, ConnectionId)> adopted;   // it has the one that adopt() offered
  std::function<void(WorkerId, ConnectionId)> declined;  // it does not take it
  // Its channel is closed and was read to the end: more it will never say. Not told where `gone` comes first.
  std::function<void(WorkerId)> ended;
  // FDCLOSE: its answer is written, and it gives this one up to be closed, under a number as above; to be answered with
  // take_to_close() or decline().
  std::function<void(WorkerId, std::uint64_t its_number, UniqueFd)> closing = {};
};

// Everything one worker can say. Each is called with the worker's id, which is never reused.
struct LinkEvents {
  std::function<void(WorkerId, pid_t)> started;              // the process exists, and this is its pid in our namespace
  std::function<void(WorkerId)> parked;                      // a spare: start-up done, listeners untouched
  std::function<void(WorkerId, Drain)> ready;                // listeners are in its loop
  std::function<void(WorkerId)> stopping;                    // it accepts no new connection any more
  std::function<void(WorkerId, const std::string&)> status;  // STATUS=, one line for people
  std::function<void(WorkerId, const std::string&)>
      refused;                                      // a bad message: what was wrong; the worker is to be retired
  std::function<void(WorkerId, const Exit&)> gone;  // once, last, after its channel was read to the end
  ConnectionEvents connections = {};                // without them it passes none
  // NEXT_DUE=, as it was said: when its own schedule next needs the app awake.
  std::function<void(WorkerId, const std::string&)> next_due = {};
};

class WorkerLink {
 public:
  virtual ~WorkerLink() = default;     // kills what is left of its process group; its events are never called again
  virtual void go(unsigned slot) = 0;  // a spare takes it
  // Stop accepting, finish what is in flight, exit by then.
  virtual void retire(MonotonicTime deadline, Adopters) = 0;
  virtual void announce_close() {}             // serve on, but let each answer end its connection: a stop has begun
  virtual void signal(int signal_number) = 0;  // to the worker; SIGKILL goes to its whole group
  virtual void reopen_logs() = 0;  // SIGUSR1 to those who know it; nothing to a command that might die of it
  virtual pid_t pid() const = 0;   // zero: not started yet
  virtual const ScoreboardMemory* scoreboard() const = 0;  // null: it has none (exec)
  // CLOCK_MONOTONIC of its last sign of life: the scoreboard's heartbeat or WATCHDOG=1; none: it never promised any, so
  // its silence means nothing.
  virtual std::optional<MonotonicTime> heartbeat() const = 0;

  // Client connections. Unless a link says otherwise, its worker neither gives nor takes any.
  virtual bool adopts() const { return false; }  // it said READY with DRAIN=handover, not STOPPING, and hears us
  // The fd is lent: it stays open until the worker adopted or declined it, or its channel has ended. False: it cannot
  // be told.
  virtual bool adopt(ConnectionId, int /*fd*/) { return false; }
  virtual void hold(std::uint64_t /*its_number*/) {}           // the connection is the master's now
  virtual void decline(std::uint64_t /*its_number*/) {}        // it stays the worker's
  virtual void take_to_close(std::uint64_t /*its_number*/) {}  // the connection is the master's, to be closed
  virtual std::uint64_t handed_over() const { return 0; }      // those that are the master's, so far
};
}  // namespace moult
