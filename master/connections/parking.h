#pragma once
// Idle client connections between two workers (DESIGN §7). Pure; run by ConnectionKeeper, which has the descriptors.
//
// A worker that retires gives up each connection that is between two requests. Here it waits for its client to speak;
// then a worker that serves is offered it, and it stays ours until that one has said that it has it.
//
//   (arrives) -> parked            there is room
//   (arrives) -> (declined)        there is none: it stays the worker's
//   (accepted) -> calling          by the master itself, at a stop: whether it has spoken or is about to
//   (came)    -> parked            accepted by the master itself while the app sleeps
//   parked    -> (declined)        it cannot be watched: the same. One that came is nobody's: it is calling then
//   parked    -> calling           its client spoke, or has just come and is about to (OneIsLeft)
//   parked    -> ending            its keep-alive is over, or nobody will serve any more: it is looked at once more
//   parked, ending -> (closed)     its client hung up
//   ending    -> calling           its client had spoken by then
//   ending    -> (closed)          it had not
//   calling   -> offered           somebody can take it: whoever called first is first
//   calling   -> (refused)         nobody could until `patience` was over, or nobody will serve any more, or a wake has
//                                  failed and the next is not tried yet
//   offered   -> (given)           its worker has it
//   offered   -> calling           that worker declined, or is gone and had not said so
//
// So each that arrived ends in exactly one of declined, closed, refused and given, and none is offered to two workers
// at once. Offers have no end of their own: one that does not answer hangs, and HealthWatch ends it.
//
// While the app sleeps (Sleeps, Wakes) all clocks stand still, those of the silent and those of callers, and start anew
// at the wake. So nobody is refused here before the budget of a wake is over, whatever that budget is: it is the idle
// core's, which says RefuseUntil when it has ended in vain, and Wakes when somebody serves. Until the end of such a
// window whoever speaks is refused at once.
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/step.h"
namespace moult {
struct ParkingPolicy {
  std::size_t most = 0;   // connections that are ours at a time, whatever their state
  Duration keep_alive{};  // from its arrival: how long a silent client is kept
  Duration patience{};    // from its word, or the wake: how long a client waits for a worker while the app is awake
  // An adopter that declined is left in peace for so long; one that has lost a descriptor has no room for the next.
  Duration rest = std::chrono::milliseconds(100);
  // Offers that one worker may leave unanswered, as many as it may leave us: the rest wait for whoever answers first.
  std::size_t most_offers = 64;
  // One whose last sign of life is older may hang, and is asked after the others. Workers beat once a second.
  Duration silence = std::chrono::seconds(2);
  std::size_t most_accepted = 64;  // beside `most`, for those that the master accepted itself
  // Whoever came here less long ago may be in the middle of a thought, or may just have connected. As long as a worker
  // waits for the first request on a connection when it retires.
  Duration thought = std::chrono::seconds(1);
};

enum class ConnectionState { parked, ending, calling, offered };
struct ParkedConnection {
  ConnectionState state = ConnectionState::parked;
  MonotonicTime until{};  // parked: its keep-alive; calling and offered: its patience
  WorkerId offered_to{};  // zero unless it is offered
  bool came = false;      // accepted here while the app slept: no worker could have it back
};
struct Adopter {  // a worker that serves and takes connections
  WorkerId id;
  std::size_t offers = 0;  // that it has not answered
  std::uint64_t last_offer = 0;
  MonotonicTime rests_until{};
  MonotonicTime heard_at = never;  // its last sign of life; never: it promised none, and its silence means nothing
};
struct ParkingCounts {  // since the start
  std::uint64_t parked = 0, accepted = 0, declined = 0;
  std::uint64_t given = 0, closed_by_client = 0, timed_out = 0, closed_at_stop = 0, refused = 0;
};
struct Parking {
  using Queue = std::set<std::pair<MonotonicTime, ConnectionId>>;
  std::map<ConnectionId, ParkedConnection> connections;
  Queue idle, callers;  // exactly those that are parked, and those that call, by `until`
  std::vector<Adopter> adopters;
  std::uint64_t offers = 0;                           // made so far: whose last one is the oldest is next
  bool ends = false;                                  // nobody will serve any more
  bool sleeps = false;                                // the clocks stand still
  MonotonicTime refuse_until = MonotonicTime::min();  // callers are refused: a wake has failed
  ParkingCounts counts;
};

struct Arrived {
  ConnectionId id;
};
struct Accepted {  // while takes_accepted() says so
  ConnectionId id;
};
struct Came {  // while has_room_for() says so
  ConnectionId id;
};
struct CannotWatch {
  ConnectionId id;
};
struct ClientSpoke {
  ConnectionId id;
};
struct ClientHungUp {
  ConnectionId id;
};
struct ClientSilent {  // after LookAgain
  ConnectionId id;
};
struct AdoptedBy {
  ConnectionId id;
  WorkerId worker;
};
struct DeclinedBy {  // or it could not even be told
  ConnectionId id;
  WorkerId worker;
};
struct AdopterServes {
  WorkerId worker;
};
struct AdopterHeard {
  WorkerId worker;
  MonotonicTime at;
};
struct AdopterLeaves {  // it gets no more; what it was offered it may still take
  WorkerId worker;
};
struct AdopterGone {  // all that it said was heard
  WorkerId worker;
};
struct OneIsLeft {};  // at a stop: who serves now is the last one, and will hear RETIRE next
struct ServiceEnds {};
struct Sleeps {};
struct Wakes {};
struct RefuseUntil {  // the past: callers are admitted again
  MonotonicTime at;
};
using ParkingEvent = std::variant<Arrived, Accepted, Came, CannotWatch, ClientSpoke, ClientHungUp, ClientSilent,
                                  AdoptedBy, DeclinedBy, AdopterServes, AdopterHeard, AdopterLeaves, AdopterGone,
                                  OneIsLeft, ServiceEnds, Sleeps, Wakes, RefuseUntil, TimePassed>;

struct TakeIn {  // tell its worker, and listen for its client
  ConnectionId id;
};
struct TurnAway {  // tell its worker: declined
  ConnectionId id;
};
struct LookAgain {  // answered, also from inside, with ClientSpoke, ClientHungUp or ClientSilent
  ConnectionId id;
};
struct OfferTo {  // stop listening to its client; keep the descriptor
  ConnectionId id;
  WorkerId worker;
};
struct LetGo {  // its worker has it
  ConnectionId id;
};
struct CloseIdle {
  ConnectionId id;
};
struct RefuseCaller {  // politely
  ConnectionId id;
  Duration come_again_in;  // zero: nobody knows
};
using ParkingAction = std::variant<TakeIn, TurnAway, LookAgain, OfferTo, LetGo, CloseIdle, RefuseCaller>;

Step<Parking, ParkingAction> transition(Parking, const ParkingEvent&, const ParkingPolicy&, MonotonicTime now);
MonotonicTime next_deadline(const Parking&, MonotonicTime now);

bool takes_accepted(const Parking&, const ParkingPolicy&);
bool has_room_for(const Parking&, const ParkingPolicy&, std::size_t more);
bool is_quiet(const Parking&);  // no client waits for a worker, and none is offered to one
}  // namespace moult
