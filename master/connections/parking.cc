#include "master/connections/parking.h"

#include <algorithm>
#include <tuple>
#include <utility>
namespace moult {
namespace {
// One event and what follows from it.
class Transition {
 public:
  Transition(Parking& parking, const ParkingPolicy& policy, MonotonicTime now, std::vector<ParkingAction>& actions)
      : parking_(parking), policy_(policy), now_(now), actions_(actions) {}

  void operator()(const Arrived& e) {
    if (parking_.connections.size() >= policy_.most) return turn_away(e.id);
    ++parking_.counts.parked;
    park(e.id, false);
  }
  void operator()(const Accepted& e) {
    ++parking_.counts.accepted;
    call_from_now(e.id, parking_.connections[e.id]);
  }
  void operator()(const Came& e) {
    ++parking_.counts.accepted;
    park(e.id, true);
  }
  void operator()(const CannotWatch& e) {
    ParkedConnection* found = leave_idle(e.id);
    if (!found) return;
    if (found->came) return call_from_now(e.id, *found);
    --parking_.counts.parked;
    turn_away(e.id);
  }
  void operator()(const ClientSpoke& e) {
    if (ParkedConnection* found = leave_idle(e.id)) call_from_now(e.id, *found);
  }
  void operator()(const ClientHungUp& e) {
    if (leave_idle(e.id)) close(e.id, parking_.counts.closed_by_client);
  }
  void operator()(const ClientSilent& e) {
    const ParkedConnection* found = find(e.id);
    if (!found || found->state != ConnectionState::ending) return;
    close(e.id, parking_.ends ? parking_.counts.closed_at_stop : parking_.counts.timed_out);
  }
  void operator()(const AdoptedBy& e) {
    if (!answered(e.id, e.worker)) return;
    ++parking_.counts.given;
    end(e.id, LetGo{e.id});
  }
  void operator()(const DeclinedBy& e) {
    ParkedConnection* offered = answered(e.id, e.worker);
    if (!offered) return;
    if (Adopter* adopter = find(e.worker)) adopter->rests_until = now_ + policy_.rest;
    call(e.id, *offered);
  }
  void operator()(const AdopterServes& e) {
    if (find(e.worker)) return;
    const auto is_offered = [&](const auto& each) { return each.second.offered_to == e.worker; };
    const auto offers = std::ranges::count_if(parking_.connections, is_offered);
    parking_.adopters.push_back({e.worker, static_cast<std::size_t>(offers)});
  }
  void operator()(const AdopterHeard& e) {
    if (Adopter* adopter = find(e.worker)) adopter->heard_at = e.at;
  }
  void operator()(const AdopterLeaves& e) { forget(e.worker); }
  void operator()(const AdopterGone& e) {
    forget(e.worker);
    for (auto& [id, each] : parking_.connections)
      if (each.offered_to == e.worker) call(id, each);
  }
  void operator()(const OneIsLeft&) {
    while (!parking_.idle.empty()) {
      const auto [until, id] = *parking_.idle.rbegin();  // who came last
      if (now_ - (until - policy_.keep_alive) >= policy_.thought) return;
      call_from_now(id, *leave_idle(id));
    }
  }
  void operator()(const ServiceEnds&) { parking_.ends = true; }
  void operator()(const Sleeps&) { parking_.sleeps = true; }
  void operator()(const Wakes&) {
    parking_.refuse_until = MonotonicTime::min();
    if (std::exchange(parking_.sleeps, false)) restart_clocks();
  }
  void operator()(const RefuseUntil& e) { parking_.refuse_until = e.at; }
  void operator()(const TimePassed&) {}

  // What is due, and who calls: after each event.
  void settle() {
    auto& [connections, idle, callers, adopters, offers, ends, sleeps, refuse_until, counts] = parking_;
    const auto is_due = [this](const Parking::Queue& queue) {
      return !queue.empty() && (parking_.ends || (!parking_.sleeps && queue.begin()->first <= now_));
    };
    while (is_due(idle)) {
      const ConnectionId id = idle.extract(idle.begin()).value().second;
      connections.at(id).state = ConnectionState::ending;
      actions_.push_back(LookAgain{id});
    }
    while (!callers.empty() && !ends) {
      Adopter* adopter = next_adopter();
      if (!adopter) break;
      offer(callers.extract(callers.begin()).value().second, *adopter);
    }
    const bool window = now_ < refuse_until;
    while (is_due(callers) || (window && !callers.empty())) {
      const ConnectionId id = callers.extract(callers.begin()).value().second;
      ++counts.refused;
      end(id, RefuseCaller{id, window ? refuse_until - now_ : Duration::zero()});
    }
  }

 private:
  ParkedConnection* find(ConnectionId id) {
    const auto found = parking_.connections.find(id);
    return found == parking_.connections.end() ? nullptr : &found->second;
  }
  Adopter* find(WorkerId id) {
    const auto found = std::ranges::find(parking_.adopters, id, &Adopter::id);
    return found == parking_.adopters.end() ? nullptr : &*found;
  }
  void forget(WorkerId id) {
    std::erase_if(parking_.adopters, [id](const Adopter& each) { return each.id == id; });
  }

  // One that is parked or ending, no longer in its queue; null: it is neither.
  ParkedConnection* leave_idle(ConnectionId id) {
    ParkedConnection* found = find(id);
    if (!found || (found->state != ConnectionState::parked && found->state != ConnectionState::ending)) return nullptr;
    parking_.idle.erase({found->until, id});
    return found;
  }

  // Null: it was not offered to this worker, or that is over.
  ParkedConnection* answered(ConnectionId id, WorkerId worker) {
    ParkedConnection* found = find(id);
    if (!found || found->state != ConnectionState::offered || found->offered_to != worker) return nullptr;
    if (Adopter* adopter = find(worker)) --adopter->offers;
    return found;
  }

  bool is_silent(const Adopter& adopter) const {
    return adopter.heard_at != never && now_ - adopter.heard_at > policy_.silence;
  }

  // The one with the fewest unanswered offers; of equals, the one that had none for longest. One that may hang comes
  // after all that do not: its caller would wait until it is ended.
  Adopter* next_adopter() {
    Adopter* best = nullptr;
    for (Adopter& each : parking_.adopters) {
      if (each.offers >= policy_.most_offers || each.rests_until > now_) continue;
      const auto rank = [this](const Adopter& a) { return std::tuple(is_silent(a), a.offers, a.last_offer); };
      if (!best || rank(each) < rank(*best)) best = &each;
    }
    return best;
  }

  void park(ConnectionId id, bool came) {
    const MonotonicTime until = now_ + policy_.keep_alive;
    parking_.connections[id] = {ConnectionState::parked, until, {}, came};
    parking_.idle.emplace(until, id);
    actions_.push_back(TakeIn{id});
  }

  // Whoever called first stays first: the first has all the patience there is from now on, and those who came after
  // him as much more as they came later.
  void restart_clocks() {
    const auto move_to = [this](Parking::Queue& queue, auto later) {
      Parking::Queue moved;
      for (const auto& [until, id] : queue) {
        parking_.connections.at(id).until = later(until);
        moved.emplace(later(until), id);
      }
      queue = std::move(moved);
    };
    move_to(parking_.idle, [this](MonotonicTime) { return now_ + policy_.keep_alive; });
    const MonotonicTime patient_until = now_ + policy_.patience;
    if (!parking_.callers.empty())
      move_to(parking_.callers,
              [by = patient_until - parking_.callers.begin()->first](MonotonicTime until) { return until + by; });
    for (auto& [id, each] : parking_.connections)
      if (each.state == ConnectionState::offered) each.until = std::max(each.until, patient_until);
  }

  void call_from_now(ConnectionId id, ParkedConnection& connection) {
    connection.until = now_ + policy_.patience;
    call(id, connection);
  }
  void call(ConnectionId id, ParkedConnection& connection) {
    connection.state = ConnectionState::calling;
    connection.offered_to = {};
    parking_.callers.emplace(connection.until, id);
  }
  void offer(ConnectionId id, Adopter& to) {
    ++to.offers;
    to.last_offer = ++parking_.offers;
    ParkedConnection& connection = parking_.connections.at(id);
    connection.state = ConnectionState::offered;
    connection.offered_to = to.id;
    actions_.push_back(OfferTo{id, to.id});
  }
  void turn_away(ConnectionId id) {
    ++parking_.counts.declined;
    end(id, TurnAway{id});
  }
  void close(ConnectionId id, std::uint64_t& count) {
    ++count;
    end(id, CloseIdle{id});
  }
  void end(ConnectionId id, ParkingAction how) {
    parking_.connections.erase(id);
    actions_.push_back(how);
  }

  Parking& parking_;
  const ParkingPolicy& policy_;
  const MonotonicTime now_;
  std::vector<ParkingAction>& actions_;
};
}  // namespace

Step<Parking, ParkingAction> transition(Parking parking, const ParkingEvent& event, const ParkingPolicy& policy,
                                        MonotonicTime now) {
  std::vector<ParkingAction> actions;
  Transition step(parking, policy, now, actions);
  std::visit(step, event);
  step.settle();
  return {std::move(parking), std::move(actions)};
}

MonotonicTime next_deadline(const Parking& parking, MonotonicTime now) {
  MonotonicTime at = never;
  if (parking.refuse_until > now) at = parking.refuse_until;  // so that whoever could not be heard is looked at again
  if (!parking.sleeps && !parking.idle.empty()) at = std::min(at, parking.idle.begin()->first);
  if (parking.callers.empty()) return at;
  if (!parking.sleeps) at = std::min(at, parking.callers.begin()->first);
  for (const Adopter& each : parking.adopters)
    if (each.rests_until > now) at = std::min(at, each.rests_until);
  return at;
}

bool takes_accepted(const Parking& parking, const ParkingPolicy& policy) {
  return parking.connections.size() < policy.most + policy.most_accepted;
}

bool has_room_for(const Parking& parking, const ParkingPolicy& policy, std::size_t more) {
  const std::size_t taken = parking.connections.size();
  return taken <= policy.most && more <= policy.most - taken;
}

bool is_quiet(const Parking& parking) { return parking.connections.size() == parking.idle.size(); }
}  // namespace moult
