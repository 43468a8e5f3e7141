#include "master/connections/connection_keeper.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "master/connections/send_queue.h"
#include "master/connections/socket_inode.h"
namespace moult {
namespace {
enum class Client { silent, spoke, hung_up };

// What it said stays in the socket, for the worker that will answer. One that spoke and hung up has spoken.
Client look_at(int fd) {
  char byte;
  const ssize_t count = ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (count > 0) return Client::spoke;
  return count < 0 && (errno == EAGAIN || errno == EINTR) ? Client::silent : Client::hung_up;
}

bool is_over(const Pool& pool) {
  switch (pool.goal.mode) {
    case Mode::serve:
    case Mode::sleep:
    case Mode::delay:
    case Mode::draining: return false;
    case Mode::last:
    case Mode::quick:
    case Mode::finished: break;
  }
  return std::ranges::find(pool.workers, WorkerState::serving, &Worker::state) == pool.workers.end();
}
}  // namespace

ConnectionKeeper::ConnectionKeeper(uv_loop_t* loop, const ParkingPolicy& policy, Links links, Room room,
                                   WhileAsleep asleep)
    : loop_(loop),
      policy_(policy),
      links_(std::move(links)),
      room_(std::move(room)),
      offered_(policy.most + policy.most_accepted),
      workers_adopt_(asleep.workers_adopt),
      ignored_(std::move(asleep.ignored_paths)),
      parts_timer_(make_timer(loop, this)),
      refusals_(loop, std::min(Refusals::most, policy.most)),
      machine_(loop, Parking{}, policy_, [this](const ParkingAction& action) { perform(action); }) {
  machine_.on_settled([this] { settle(); });
}

ConnectionEvents ConnectionKeeper::events() {
  decltype(ConnectionEvents::stored) hear_stored;
  if (policy_.most > 0)
    hear_stored = [this](WorkerId from, std::uint64_t as, UniqueFd fd) { stored(from, as, std::move(fd)); };
  return {.stored = std::move(hear_stored),
          .adopted =
              [this](WorkerId by, ConnectionId id) {
                machine_.post(AdoptedBy{id, by});
              },
          .declined =
              [this](WorkerId by, ConnectionId id) {
                machine_.post(DeclinedBy{id, by});
              },
          .ended = [this](WorkerId who) { machine_.post(AdopterGone{who}); }};
}

void ConnectionKeeper::accepted(UniqueFd fd) {
  const ConnectionId id{++last_id_};
  kept_[id] = {std::move(fd), WorkerId{}, 0, nullptr};
  machine_.post(Accepted{id});
}

void ConnectionKeeper::when_quiet(std::function<void()> call) {
  when_quiet_ = std::move(call);
  settle();
}

void ConnectionKeeper::settle() {
  if (changed_) changed_();
  if (!when_quiet_ || !is_quiet()) return;
  std::exchange(when_quiet_, nullptr)();
}

void ConnectionKeeper::finish(std::function<void()> done) {
  machine_.post(ServiceEnds{});
  refusals_.when_empty(std::move(done));
}

int ConnectionKeeper::descriptor(std::uint64_t inode) const {
  for (const auto& [id, kept] : kept_)
    if (kept.fd && socket_inode(kept.fd.get()) == inode) return kept.fd.get();
  return -1;
}

ParkingDescription ConnectionKeeper::describe() const {
  const Parking& parking = machine_.state();
  const std::size_t held = parking.connections.size(), callers = parking.callers.size();
  ParkingDescription d{held,         callers,        held - callers - parking.idle.size(),
                       policy_.most, parking.counts, ignored_.answered()};
  d.counts.declined += declined_at_the_door_;
  return d;
}

// --- what becomes of workers

void ConnectionKeeper::worker_serving(const Worker& worker, pid_t) {
  const WorkerLink* link = links_(worker.id);
  workers_adopt_ = link && link->adopts();
}

void ConnectionKeeper::worker_gone(const Worker& worker, const Exit&) {
  adopters_.erase(worker.id);
  machine_.post(AdopterGone{worker.id});  // and settle()
}

// From levels, so that nothing that ends a worker's service can be missed.
void ConnectionKeeper::pool_settled(const Pool& pool) {
  for (const Worker& worker : pool.workers) {
    const WorkerLink* link = links_(worker.id);
    const bool adopts = worker.state == WorkerState::serving && link && link->adopts();
    if (adopts && adopters_.insert(worker.id).second) machine_.post(AdopterServes{worker.id});
    if (!adopts && adopters_.erase(worker.id) > 0) machine_.post(AdopterLeaves{worker.id});
  }
  if (!machine_.state().ends && is_over(pool)) machine_.post(ServiceEnds{});
}

// Before somebody is to choose among them.
void ConnectionKeeper::look_at_adopters() {
  for (const WorkerId id : adopters_)
    if (const WorkerLink* link = links_(id))
      if (const auto at = link->heartbeat()) machine_.post(AdopterHeard{id, *at});
}

// --- what links say

void ConnectionKeeper::stored(WorkerId from, std::uint64_t stored_as, UniqueFd fd) {
  if (!fd || !is_connection(fd.get()) || !room_()) {
    ++declined_at_the_door_;
    if (WorkerLink* link = links_(from)) link->decline(stored_as);
    return;
  }
  const ConnectionId id{++last_id_};
  kept_[id] = {std::move(fd), from, stored_as, nullptr};
  machine_.post(Arrived{id});
}

// --- what the parking wants done

void ConnectionKeeper::perform(const ParkingAction& action) {
  std::visit(Match{
                 [&](const TakeIn& a) { take_in(a.id); },
                 [&](const TurnAway& a) { turn_away(a.id); },
                 [&](const LookAgain& a) {
                   if (!hear_client(a.id)) machine_.post(ClientSilent{a.id});
                 },
                 [&](const OfferTo& a) { offer(a); },
                 [&](const LetGo& a) {
                   offered_.acknowledged(a.id);
                   kept_.erase(a.id);
                 },
                 [&](const CloseIdle& a) { kept_.erase(a.id); },
                 [&](const RefuseCaller& a) { refusals_.refuse(take(a.id), a.come_again_in); },
             },
             action);
}

void ConnectionKeeper::take_in(ConnectionId id) {
  Kept& kept = kept_.at(id);
  auto watch = FdWatch::open(loop_, kept.fd.get(), [this, id](int) { hear_client(id); });
  if (!watch) return machine_.post(CannotWatch{id});
  kept.watch = std::move(*watch);
  if (WorkerLink* link = links_(kept.from)) link->hold(kept.stored_as);
}

void ConnectionKeeper::turn_away(ConnectionId id) {
  const auto kept = kept_.extract(id);
  if (WorkerLink* link = links_(kept.mapped().from)) link->decline(kept.mapped().stored_as);
}

void ConnectionKeeper::offer(const OfferTo& offer) {
  Kept& kept = kept_.at(offer.id);
  kept.watch.reset();
  if (kept.fd) offered_.keep(offer.id, kept.fd);
  WorkerLink* link = links_(offer.worker);
  if (!link || !link->adopt(offer.id, offered_.fd(offer.id))) machine_.post(DeclinedBy{offer.id, offer.worker});
}

bool ConnectionKeeper::hear_client(ConnectionId id) {
  Kept& kept = kept_.at(id);
  const Client client = look_at(kept.fd.get());
  if (client == Client::silent) return false;
  if (client == Client::spoke && is_ignored(id, kept)) return true;
  parts_.erase(id);
  kept.watch.reset();
  if (client == Client::hung_up) {
    machine_.post(ClientHungUp{id});
    return true;
  }
  look_at_adopters();
  machine_.post(ClientSpoke{id});
  return true;
}

UniqueFd ConnectionKeeper::take(ConnectionId id) {
  auto kept = kept_.extract(id);
  kept.mapped().watch.reset();
  return kept.mapped().fd ? std::move(kept.mapped().fd) : offered_.declined(id);
}
}  // namespace moult
