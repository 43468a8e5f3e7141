#pragma once
// Looking at a pool and at actions from outside; for the invariants only.
#include <algorithm>
#include "master/pool/pool.h"
namespace moult::look {
inline bool stopping(Mode m) { return m != Mode::serve && m != Mode::sleep; }
inline unsigned target(const Pool& p) {
  return p.goal.mode == Mode::serve || p.goal.mode == Mode::delay ? p.goal.workers : 0;
}
inline bool wanted(const Pool& p, const Worker& w) { return w.slot && *w.slot < target(p); }
inline bool urgent(Rank r) { return r == Rank::hard_limit || r == Rank::pressure; }
inline Rank urgency(const Worker& w) {
  const auto* recycle = std::get_if<Recycle>(&w.decision);
  if (!recycle || recycle->urgency == Urgency::routine) return Rank::none;
  return recycle->urgency == Urgency::pressure ? Rank::pressure : Rank::hard_limit;
}
template <class Each>
long count(const Pool& p, Each each) {
  return std::ranges::count_if(p.workers, each);
}
inline long in_slot(const Pool& p, unsigned slot, WorkerState s) {
  return count(p, [&](const Worker& w) { return w.slot == slot && w.state == s; });
}
inline long serving(const Pool& p) {
  return count(p, [&](const Worker& w) { return w.state == WorkerState::serving; });
}
inline long retiring(const Pool& p) {
  return count(p, [&](const Worker& w) { return w.state == WorkerState::retiring && wanted(p, w); });
}
inline bool others_serve(const Pool& p, unsigned slot) {
  return count(p, [&](const Worker& w) { return w.state == WorkerState::serving && wanted(p, w) && w.slot != slot; }) >
         0;
}
inline bool leaving(const Worker& w) {
  return w.state != WorkerState::booting && w.state != WorkerState::spare && w.state != WorkerState::serving;
}
inline const Worker* find(const Pool& p, WorkerId id) {
  for (auto& w : p.workers)
    if (w.id == id) return &w;
  return nullptr;
}
inline const Turn* turn_in(const Pool& p, unsigned slot) {
  for (auto& t : p.turns)
    if (t.slot == slot) return &t;
  return nullptr;
}
inline const Turn* turn_against(const Pool& p, WorkerId outgoing) {
  for (auto& t : p.turns)
    if (t.outgoing == outgoing) return &t;
  return nullptr;
}
template <class Action>
const Action* action(const std::vector<PoolAction>& all, auto matches) {
  for (const auto& each : all)
    if (const auto* a = std::get_if<Action>(&each); a && matches(*a)) return a;
  return nullptr;
}
template <class Action>
bool any(const std::vector<PoolAction>& all) {
  return action<Action>(all, [](const Action&) { return true; });
}
inline bool launched(const std::vector<PoolAction>& all, unsigned slot) {
  return action<Spawn>(all, [&](const Spawn& a) { return a.slot == slot; }) ||
         action<Go>(all, [&](const Go& a) { return a.slot == slot; });
}
inline bool told_to_retire(const std::vector<PoolAction>& all, WorkerId id) {
  return action<SendRetire>(all, [&](const SendRetire& a) { return a.id == id; });
}
}  // namespace moult::look
