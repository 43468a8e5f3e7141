#pragma once
// The public doors while the app sleeps (DESIGN §8): the master accepts, what it accepts is parked, and who speaks is
// somebody to wake for. Made by Instance with the listeners and the ConnectionKeeper; driven by the Sleeper, as the
// idle core says (WatchCallers, RefuseCallers, AdmitCallers). On the loop's thread.
//
// A bare connect wakes nobody, nor does one that hangs up again; a client's first byte does, unless it is a request for
// an ignored path, which the keeper answers itself. Two kinds of client wait where nobody can hear them, and count as
// callers for it, so that none waits for ever: those in the listen queue while no more can be parked (--parking-max, no
// descriptors), and those before doors that are not ours to accept from (TLS ended in the worker, commands).
//
// Who waits has no end of his own while the doors are watched: the budget of the wake is the idle core's alone. It ends
// with a worker that serves, or with refuse(). Clients' keep-alive stands still meanwhile and starts anew with
// watch(false).
#include <uv.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/fd_watch.h"
#include "base/uv_handle.h"
#include "master/connections/connection_keeper.h"
namespace moult {
class SleepingDoors {
 public:
  // `doors`: those that the master may accept from, as long as watch() may be on; non-blocking.
  using Doors = std::function<std::vector<int>()>;
  // Whether so many descriptors are free that a client may have one beside what a wake needs. False: it stays outside.
  using Room = std::function<bool()>;
  SleepingDoors(uv_loop_t*, ConnectionKeeper&, Doors, Room);
  ~SleepingDoors();
  SleepingDoors(const SleepingDoors&) = delete;
  SleepingDoors& operator=(const SleepingDoors&) = delete;

  // On: accepts, and listens to all that is parked. Off: the workers accept; whoever is parked stays parked. Off before
  // the listeners are closed, and for good then. Again: no effect.
  void watch(bool on);
  bool watches() const { return watches_; }
  // Those who wait, and those who speak until then, get a polite 503 Retry-After, without the cause. Who waits outside
  // waits on. It ends by itself, with admit() and with watch(false).
  void refuse(MonotonicTime until);
  void admit();  // that window is over before its time

  // Somebody waits. Called from the loop, never from inside a call: once while somebody waits, and again after each
  // refusal for those who wait then. Nobody is told of within a refusal.
  void on_caller(std::function<void()> call) { on_caller_ = std::move(call); }
  // Of idle connections that workers hold: could all of them be parked?
  bool has_room_for(std::size_t connections) const { return keeper_.has_room_for(connections); }

 private:
  enum class Outside {  // who waits in the listen queues
    nobody,
    some_until_room,  // until one may be accepted, or a refusal has ended
    some,             // until a refusal has ended
  };
  void open_doors();
  void come(int door);
  bool may_accept() const;
  void leave(Outside);
  void settle();
  bool somebody_waits() const { return outside_ != Outside::nobody || keeper_.has_callers(); }
  void tell();

  uv_loop_t* loop_;
  ConnectionKeeper& keeper_;
  Doors doors_;
  Room room_;
  std::vector<std::unique_ptr<FdWatch>> watched_;
  bool watches_ = false, told_ = false, refused_ = false;  // the last: as of the last look
  Outside outside_ = Outside::nobody;
  std::function<void()> on_caller_;
  UvHandle<uv_timer_t> timer_;  // so that nobody is told from inside a call
};
}  // namespace moult
