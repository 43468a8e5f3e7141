#include "master/connections/closing.h"

#include <algorithm>
namespace moult {
namespace {
class Transition {
 public:
  Transition(Closings& closings, const ClosingPolicy& policy, MonotonicTime now, std::vector<ClosingAction>& actions)
      : closings_(closings), policy_(policy), now_(now), actions_(actions) {}

  void operator()(const ClosingBegins& e) {
    ++closings_.counts.begun;
    if (closings_.connections.size() >= policy_.most) let_one_part();
    if (closings_.connections.size() >= policy_.most) return one_too_many(e.id);
    closings_.connections[e.id] = {.linger = begin_linger(policy_.linger, now_)};
    actions_.push_back(Listen{e.id});
    look(e.id, closings_.connections.at(e.id));
  }
  void operator()(const QueueSeen& e) {
    const auto found = closings_.connections.find(e.id);
    if (found == closings_.connections.end() || found->second.until) return;
    Closing& closing = found->second;
    closing.linger = advance(closing.linger, e.look, policy_.linger, now_);
    judge(e.id, closing);
  }
  void operator()(const ClosingClientEnded& e) {
    const auto found = closings_.connections.find(e.id);
    if (found == closings_.connections.end() || found->second.hung_up) return;
    found->second.hung_up = true;
    if (found->second.until) let_go(e.id);
    else look(e.id, found->second);  // it may have reset us
  }
  void operator()(const AbortsAllowed& e) {
    closings_.may_abort = e.allowed;
    std::vector<ClosingId> ids;
    for (const auto& [id, closing] : closings_.connections)
      if (!closing.until) ids.push_back(id);
    for (const ClosingId id : ids) judge(id, closings_.connections.at(id));
  }
  void operator()(const WatchEnds&) {
    closings_.counts.undelivered += undelivered(closings_);
    while (!closings_.connections.empty()) let_go(closings_.connections.begin()->first);
  }
  void operator()(const TimePassed&) {
    std::vector<ClosingId> over;
    for (auto& [id, closing] : closings_.connections) {
      if (closing.until && *closing.until <= now_) over.push_back(id);
      if (closing.linger.next_look <= now_) look(id, closing);
    }
    for (const ClosingId id : over) let_go(id);
  }

 private:
  // Asked once, until the answer says when again.
  void look(ClosingId id, Closing& closing) {
    closing.linger.next_look = never;
    actions_.push_back(LookAtQueue{id});
  }
  void judge(ClosingId id, Closing& closing) {
    switch (closing.linger.state) {
      case LingerState::underway: return;
      case LingerState::stalled:
        if (closings_.may_abort) abort(id);
        return;
      case LingerState::reset: ++closings_.counts.reset; return let_go(id);
      case LingerState::delivered: break;
    }
    ++closings_.counts.delivered;
    if (closing.hung_up) return let_go(id);
    closing.until = now_ + policy_.last_words;
  }
  void let_one_part() {
    const auto sooner = [](const auto& a, const auto& b) {
      return a.second.until.value_or(never) < b.second.until.value_or(never);
    };
    const auto first = std::ranges::min_element(closings_.connections, sooner);
    if (first != closings_.connections.end() && first->second.until) let_go(first->first);
  }
  void one_too_many(ClosingId id) {
    if (closings_.may_abort) return abort(id);
    ++closings_.counts.undelivered;
    let_go(id);
  }
  void abort(ClosingId id) {
    ++closings_.counts.aborted;
    closings_.connections.erase(id);
    actions_.push_back(AbortClosing{id});
  }
  void let_go(ClosingId id) {
    closings_.connections.erase(id);
    actions_.push_back(LetClosingGo{id});
  }

  Closings& closings_;
  const ClosingPolicy& policy_;
  const MonotonicTime now_;
  std::vector<ClosingAction>& actions_;
};
}  // namespace

Step<Closings, ClosingAction> transition(Closings closings, const ClosingEvent& event, const ClosingPolicy& policy,
                                         MonotonicTime now) {
  std::vector<ClosingAction> actions;
  std::visit(Transition(closings, policy, now, actions), event);
  return {std::move(closings), std::move(actions)};
}

MonotonicTime next_deadline(const Closings& closings, MonotonicTime) {
  MonotonicTime first = never;
  for (const auto& [id, closing] : closings.connections)
    first = std::min(first, closing.until.value_or(closing.linger.next_look));
  return first;
}

std::size_t undelivered(const Closings& closings) {
  const auto is_parting = [](const auto& each) { return each.second.until.has_value(); };
  return closings.connections.size() -
         static_cast<std::size_t>(std::ranges::count_if(closings.connections, is_parting));
}

std::size_t stalled(const Closings& closings) {
  const auto is_stalled = [](const auto& each) { return each.second.linger.state == LingerState::stalled; };
  return static_cast<std::size_t>(std::ranges::count_if(closings.connections, is_stalled));
}
}  // namespace moult
