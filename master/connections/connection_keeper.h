#pragma once
// Client connections on their way from a worker that retires to one that serves: the hands of parking.h. It has their
// descriptors, listens to their clients, passes them on, and keeps its own of each until the worker that it was offered
// to has said that it has it. Made by Instance; hears of workers from the Supervisor, of connections from their links.
//
// A socket that a worker may still use is never shut down here: one that is closed is closed alone, and one that is
// refused is nobody else's by then.
//
// While the app sleeps it also takes the clients that SleepingDoors accepts, and answers requests for ignored paths.
#include <uv.h>

#include <functional>
#include <map>
#include <memory>
#include <set>

#include "base/fd_watch.h"
#include "base/machine.h"
#include "base/unique_fd.h"
#include "master/connections/ignored_answers.h"
#include "master/connections/parking.h"
#include "master/connections/refusal.h"
#include "master/pool/worker_observer.h"
#include "worker/fd_custody.h"
namespace moult {
struct ParkingDescription {
  // Now: all that are ours; of these, those whose clients wait for a worker, and those that one has not answered for.
  std::size_t held = 0, callers = 0, offered = 0;
  std::size_t most = 0;  // that may be held
  ParkingCounts counts;
  std::uint64_t ignored_requests = 0;  // that were answered here, since the start
};

// For the time when nobody serves.
struct WhileAsleep {
  std::vector<std::string> ignored_paths;  // --idle-ignore
  bool workers_adopt = true;               // as far as is known before one has served: its READY says it then
};

class ConnectionKeeper final : public WorkerObserver {
 public:
  using Links = std::function<WorkerLink*(WorkerId)>;  // null: gone
  // Whether so many descriptors are free that one may be taken. False: whoever gives up a connection has it back, so
  // that callers who wait for a worker do not keep that worker from being launched.
  using Room = std::function<bool()>;
  ConnectionKeeper(uv_loop_t*, const ParkingPolicy&, Links, Room, WhileAsleep = {});
  ConnectionKeeper(const ConnectionKeeper&) = delete;
  ConnectionKeeper& operator=(const ConnectionKeeper&) = delete;

  // For the links of all workers; not called after our end. Without room for any, nobody hears of what they store.
  ConnectionEvents events();

  // At a stop (Backlog): a client that the master accepted itself, while takes_accepted(), is offered to whoever
  // serves.
  bool serves() const { return !adopters_.empty(); }
  bool takes_accepted() const { return moult::takes_accepted(machine_.state(), policy_); }
  void accepted(UniqueFd);
  // Before that: who was parked a moment ago may be about to speak, and is offered to it too.
  void one_is_left() { machine_.post(OneIsLeft{}); }
  // No client waits for a worker, or there is none.
  bool is_quiet() const { return moult::is_quiet(machine_.state()) || !serves(); }
  void when_quiet(std::function<void()> call);  // called once, maybe from inside; it must not call us

  // For SleepingDoors. While it sleeps the clocks of all that is parked stand still, and until a worker serves it is we
  // who answer requests for ignored paths. Again: no effect.
  void sleep(bool);
  void refuse(MonotonicTime until) { machine_.post(RefuseUntil{until}); }  // the past: no more
  // Whether the worker that came last takes connections: else nobody here may accept.
  bool is_taken_by_workers() const { return policy_.most > 0 && workers_adopt_; }
  bool has_room_for(std::size_t more) const { return moult::has_room_for(machine_.state(), policy_, more); }
  void came(UniqueFd);  // accepted while has_room_for(1)
  bool has_callers() const { return !machine_.state().callers.empty() && !serves(); }
  MonotonicTime refuses_until() const { return machine_.state().refuse_until; }
  void on_changed(std::function<void()> call) { changed_ = std::move(call); }  // any of that; it must not call us

  // Nobody will serve any more. `done` is called, maybe from inside, when no connection is left: at the latest after
  // Refusals::linger.
  void finish(std::function<void()> done);
  ParkingDescription describe() const;
  // Lent: of a connection that no worker shares, by its socket's inode; -1: none such. For Delivery.
  int descriptor(std::uint64_t inode) const;

  void worker_serving(const Worker&, pid_t) override;
  void worker_gone(const Worker&, const Exit&) override;
  void pool_settled(const Pool&) override;

 private:
  struct Kept {
    UniqueFd fd;                     // empty once it was offered: then the custody has it
    WorkerId from;                   // zero: the master accepted it
    std::uint64_t stored_as;         // its id in that worker
    std::unique_ptr<FdWatch> watch;  // while its client is listened to; gone before the fd
  };
  void stored(WorkerId, std::uint64_t stored_as, UniqueFd);
  void look_at_adopters();
  void settle();
  void perform(const ParkingAction&);
  bool is_ignored(ConnectionId, Kept&);
  bool waits_for_the_rest(ConnectionId, Kept&);
  void hear_parts();
  void take_in(ConnectionId);
  void turn_away(ConnectionId);
  void offer(const OfferTo&);
  bool hear_client(ConnectionId);  // false: it is silent
  UniqueFd take(ConnectionId);

  uv_loop_t* loop_;
  const ParkingPolicy policy_;
  Links links_;
  Room room_;
  std::map<ConnectionId, Kept> kept_;  // exactly those of the parking, and one that just arrived
  FdCustody offered_;
  std::uint64_t last_id_ = 0;
  // FDSTOREs that were declined before they could be parked: no client connection came with them, or there was no room
  // for another descriptor.
  std::uint64_t declined_at_the_door_ = 0;
  std::set<WorkerId> adopters_;  // that the parking was told of
  std::function<void()> when_quiet_;
  std::function<void()> changed_;
  bool workers_adopt_;
  IgnoredAnswers ignored_;
  // Whose client has said a part of what may become an ignored request, and until when the rest is waited for. It is
  // not listened to meanwhile, or it would be heard all the time: it is looked at again by the timer.
  std::map<ConnectionId, MonotonicTime> parts_;
  UvHandle<uv_timer_t> parts_timer_;
  Refusals refusals_;
  Machine<Parking, ParkingEvent, ParkingAction, ParkingPolicy> machine_;
};
}  // namespace moult
