#include "master/connections/tails.h"

#include <algorithm>
#include <set>
namespace moult {
namespace {
bool is_settled(const Tail& tail) { return is_final(tail.linger.state) || tail.ladder.state != AbortState::climbing; }

class Transition {
 public:
  Transition(Tails& tails, const TailPolicy& policy, MonotonicTime now, std::vector<TailAction>& actions)
      : tails_(tails), policy_(policy), now_(now), actions_(actions) {}

  void operator()(const TailWatchBegins& e) {
    (*this)(TailWatchEnds{});
    tails_.watching = true;
    tails_.may_abort = e.may_abort;
    tails_.wait = policy_.linger.look_first;
    look();
  }
  void operator()(const TailsSeen& e) {
    if (!tails_.watching) return;
    tails_.seen = true;
    tails_.failed_looks = 0;
    tails_.unwatched = 0;
    for (const TailId id : e.taken) forget_taken(id);
    forget_vanished(e.readings);
    for (const TailReading& each : e.readings) read(each);
    look_later();
  }
  void operator()(const TailsUnseen&) {
    if (!tails_.watching) return;
    tails_.seen = false;
    ++tails_.failed_looks;
    for (auto& [id, tail] : tails_.tails) take_in(id, tail, LookFailed{});
    look_later();
  }
  void operator()(const TailAbortAnswered& e) {
    const auto found = tails_.tails.find(e.id);
    if (found == tails_.tails.end()) return answered_unwatched(e.answer);
    Tail& tail = found->second;
    tail.asked = false;
    if (is_settled(tail)) return;
    tail.ladder = answered(tail.ladder, e.answer, policy_.abort, now_, tails_.random);
    switch (tail.ladder.state) {
      case AbortState::climbing: break;
      case AbortState::aborted: ++tails_.counts.aborted; break;
      case AbortState::gone: ++tails_.counts.reset; break;
      case AbortState::fail_closed: ++tails_.counts.fail_closed; break;
    }
  }
  void operator()(const TailWatchEnds&) {
    tails_.counts.begun += tails_.unwatched;
    tails_.counts.undelivered += underway(tails_) + tails_.unwatched;
    tails_.tails.clear();
    tails_.watching = tails_.seen = tails_.surplus_spared = false;
    tails_.unwatched = 0;
    tails_.failed_looks = 0;
    tails_.next_look = never;
  }
  void operator()(const TimePassed&) {
    for (auto& [id, tail] : tails_.tails) climb(id, tail);
    if (tails_.next_look <= now_) look();
  }

 private:
  void look() {
    tails_.next_look = never;
    actions_.push_back(LookAtTails{});
  }
  void look_later() {
    tails_.next_look = now_ + tails_.wait;
    tails_.wait = longer(tails_.wait, policy_.linger);
  }
  void forget_taken(TailId id) {
    const auto found = tails_.tails.find(id);
    if (found == tails_.tails.end()) return;
    if (!is_settled(found->second)) --tails_.counts.begun;
    tails_.tails.erase(found);
  }
  void forget_vanished(const std::vector<TailReading>& readings) {
    std::set<TailId> known;
    for (const TailReading& each : readings) known.insert(each.id);
    for (auto& [id, tail] : tails_.tails)
      if (!known.contains(id)) take_in(id, tail, Vanished{});
    std::erase_if(tails_.tails, [&](const auto& each) { return !known.contains(each.first); });
  }
  void read(const TailReading& seen) {
    const auto found = tails_.tails.find(seen.id);
    if (found != tails_.tails.end()) {
      take_in(seen.id, found->second, seen.reading);
      // What a live worker sends on it later is another tail.
      if (found->second.linger.state == LingerState::delivered) tails_.tails.erase(found);
      return;
    }
    if (seen.reading.unacknowledged_bytes == 0) return;
    if (tails_.tails.size() >= policy_.most) return one_too_many(seen.id);
    ++tails_.counts.begun;
    Tail& tail = tails_.tails[seen.id];
    tail.linger = begin_linger(policy_.linger, now_);
    take_in(seen.id, tail, seen.reading);
  }
  void take_in(TailId id, Tail& tail, const SendQueueLook& look) {
    const bool counted = is_settled(tail);
    tail.linger = advance(tail.linger, look, policy_.linger, now_);
    if (counted) return;
    switch (tail.linger.state) {
      case LingerState::underway: return;
      case LingerState::stalled: return climb(id, tail);
      case LingerState::delivered: ++tails_.counts.delivered; return;
      case LingerState::reset: ++tails_.counts.reset; return;
    }
  }
  void climb(TailId id, Tail& tail) {
    if (!tails_.may_abort || tail.asked || tail.linger.state != LingerState::stalled) return;
    if (tail.ladder.state != AbortState::climbing || tail.ladder.backoff.retry_at > now_) return;
    tail.asked = true;
    actions_.push_back(AbortTail{id});
  }
  void one_too_many(TailId id) {
    ++tails_.unwatched;
    if (tails_.may_abort && !tails_.surplus_spared) actions_.push_back(AbortTail{id});
  }
  void answered_unwatched(AbortAnswer answer) {
    if (tails_.unwatched == 0) return;
    switch (answer) {
      case AbortAnswer::done:
        --tails_.unwatched;
        ++tails_.counts.begun;
        ++tails_.counts.aborted;
        return;
      case AbortAnswer::gone: --tails_.unwatched; return;
      case AbortAnswer::refused: tails_.surplus_spared = true; return;
      case AbortAnswer::failed: return;  // the next look finds it again
    }
  }

  Tails& tails_;
  const TailPolicy& policy_;
  const MonotonicTime now_;
  std::vector<TailAction>& actions_;
};
}  // namespace

Step<Tails, TailAction> transition(Tails tails, const TailEvent& event, const TailPolicy& policy, MonotonicTime now) {
  std::vector<TailAction> actions;
  std::visit(Transition(tails, policy, now, actions), event);
  return {std::move(tails), std::move(actions)};
}

MonotonicTime next_deadline(const Tails& tails, MonotonicTime) {
  MonotonicTime first = tails.next_look;
  for (const auto& [id, tail] : tails.tails)
    if (tail.linger.state == LingerState::stalled && tails.may_abort && !tail.asked && !is_settled(tail))
      first = std::min(first, tail.ladder.backoff.retry_at);
  return first;
}

TailVerdict verdict(const Tails& tails, const TailPolicy& policy) {
  if (tails.failed_looks >= policy.most_failed_looks) return TailVerdict::fail_closed;
  if (failed_closed(tails) > 0) return TailVerdict::fail_closed;
  return tails.seen && tails.unwatched == 0 && underway(tails) == 0 ? TailVerdict::delivered : TailVerdict::underway;
}

std::size_t failed_closed(const Tails& tails) {
  const auto is_failed = [](const auto& each) { return each.second.ladder.state == AbortState::fail_closed; };
  return static_cast<std::size_t>(std::ranges::count_if(tails.tails, is_failed));
}

std::size_t underway(const Tails& tails) {
  const auto is_underway = [](const auto& each) { return !is_settled(each.second); };
  return static_cast<std::size_t>(std::ranges::count_if(tails.tails, is_underway));
}

std::size_t stalled(const Tails& tails) {
  const auto is_stalled = [](const auto& each) {
    return each.second.linger.state == LingerState::stalled && !is_settled(each.second);
  };
  return static_cast<std::size_t>(std::ranges::count_if(tails.tails, is_stalled));
}
}  // namespace moult
