#pragma once
// A random world around the pool, in virtual time: workers that boot, die, hang or are deaf, a gate, a
// supervisor that loads a new generation when one is lost. Every step goes through PoolInvariants.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include "tests/unit/pool/pool_invariants.h"
namespace moult {
struct World {
  std::mt19937_64 random;
  Pool pool;
  PoolPolicy policy{{10s, 5s, 2s}, 5, {1s, 30s}, 1s, 3s};
  MonotonicTime now{100s};
  std::multimap<MonotonicTime, PoolEvent> due;
  std::set<std::uint64_t> bad;  // generations that never boot
  std::uint64_t generation = 0;
  enum class Weather { storm, calm } weather = Weather::storm;
  PoolInvariants invariants{policy};
  struct {
    long steps = 0, forks = 0, goes = 0, retires = 0, questions = 0, rejected = 0, lost = 0, recycles = 0;
  } count;

  unsigned below(unsigned n) { return static_cast<unsigned>(random() % n); }
  Duration up_to(Duration most) { return 1ms * (1 + below(static_cast<unsigned>(most / 1ms))); }
  bool stormy(unsigned one_in) { return weather == Weather::storm && below(one_in) == 0; }
  void after(Duration d, PoolEvent e) { due.emplace(now + d, std::move(e)); }

  void perform(const PoolAction& action) {
    std::visit(Match{
                   [&](const Spawn& a) {
                     ++count.forks;
                     if (bad.contains(a.generation.value) || stormy(6)) after(up_to(3s), WorkerGone{a.id});
                     else if (stormy(12)) {
                       if (below(2)) after(policy.timeouts.boot, WorkerReady{a.id});
                     }  // in the instant of its deadline, or never
                     else if (a.slot)
                       after(up_to(3s), WorkerReady{a.id});
                     else after(up_to(3s), WorkerParked{a.id});
                     misfortunes(a.id);
                   },
                   [&](const Go& a) {
                     ++count.goes;
                     if (stormy(8)) after(up_to(100ms), WorkerGone{a.id});
                     else if (!stormy(12)) after(up_to(100ms), WorkerReady{a.id});
                     misfortunes(a.id);
                   },
                   [&](const SendRetire& a) {
                     ++count.retires;
                     if (below(4)) after(up_to(4s), WorkerGone{a.id});
                   },
                   [&](const SendSignal& a) {
                     if (a.signal == Signal::kill || below(2)) after(up_to(50ms), WorkerGone{a.id});
                   },
                   [&](const AskGate& a) {
                     ++count.questions;
                     if (below(3)) after(up_to(5s), GateAnswered{a.ask, Granted{1, true, {}}});
                     else after(up_to(5s), GateAnswered{a.ask, Refused{Refusal::no_tokens, 3s}});
                   },
                   [&](const GenerationRejected&) { ++count.rejected; },
                   [&](const BeginRecycle&) { ++count.recycles; },
                   [&](const CloseListeners&) {
                     if (below(4)) after(up_to(500ms), ListenersClosed{});
                   },
                   [&](const ReleaseGate&) {},
                   [&](const GenerationProven&) {},
                   [&](const Finished&) {},
               },
               action);
  }
  void misfortunes(WorkerId id) {
    if (stormy(6)) after(up_to(20s), WorkerGone{id});
    if (stormy(10)) after(up_to(20s), WorkerHung{id});
  }
  void post(const PoolEvent& event) {
    ++count.steps;
    if (const auto* lost = std::get_if<GenerationLost>(&event)) {
      ++count.lost;
      invariants.lost.insert(lost->generation.value);
    }
    Pool before = pool;
    auto step = transition(std::move(pool), event, policy, now);
    pool = std::move(step.state);
    if (std::getenv("TRACE")) trace(event, step.actions);
    invariants.check(before, event, pool, step.actions, now);
    for (const auto& action : step.actions) perform(action);
  }
  void trace(const PoolEvent& event, const std::vector<PoolAction>& actions) const {
    const auto& g = pool.goal;
    std::printf("%ld t=%.3f event %zu mode %d proven %lu candidate %lu lost %lu workers %u spares %u |", count.steps,
                std::chrono::duration<double>(now.time_since_epoch()).count(), event.index(), int(g.mode),
                g.proven.value, g.candidate.value, g.lost.value, g.workers, g.spares);
    for (const Turn& t : pool.turns)
      std::printf(" turn{out %lu slot %u rank %d stage %d order %d ask %lu}", t.outgoing.value, t.slot, int(t.rank),
                  int(t.stage), int(t.order), t.ask.value);
    for (const Worker& w : pool.workers)
      std::printf(" %lu/slot %d/generation %lu/state %d", w.id.value, w.slot ? int(*w.slot) : -1, w.generation.value,
                  int(w.state));
    std::printf(" -> actions");
    for (const auto& a : actions) std::printf(" %zu", a.index());
    std::printf("\n");
  }
  void load(unsigned bad_one_in) {
    ++generation;
    if (bad_one_in && below(bad_one_in) == 0) bad.insert(generation);
    post(GenerationLoaded{{generation}});
  }
  void lose() {
    const Generation lost = below(2) ? pool.goal.proven : pool.goal.candidate;
    if (!lost) return;
    post(GenerationLost{lost});
    after(up_to(8s), GenerationLoaded{{++generation}});  // the supervisor loads anew
    if (below(4) == 0) bad.insert(generation);
  }
  void judge() {
    if (pool.workers.empty()) return;
    const WorkerId id = pool.workers[below(static_cast<unsigned>(pool.workers.size()))].id;
    const Decision recycle = Recycle{Cause::limit, static_cast<Urgency>(below(3)), {}};
    post(Judged{{{id, below(4) ? recycle : Decision(Keep{})}}});
  }
  // Everybody's memory runs away: judged again and again, while turns and drains are under way.
  void flood() {
    for (int i = 0; i < 10; ++i) {
      for (const Worker& w : std::vector<Worker>(pool.workers))
        post(Judged{{{w.id, Recycle{Cause::hard_limit, below(4) ? Urgency::hard_limit : Urgency::routine, {}}}}});
      run_for(up_to(1s));
    }
  }
  void wish() {
    switch (below(18)) {
      case 17: return below(4) ? judge() : post(GenerationRefused{pool.goal.candidate});
      case 16: return below(4) ? judge() : flood();
      case 0:
      case 1: return post(ScaleTo{1 + below(6)});
      case 2:
      case 3: return load(3);
      case 4: return post(SetMode{Mode::sleep});
      case 5:
      case 6: return post(SetMode{Mode::serve});
      case 7: return post(HeadroomChanged{below(2) ? Headroom::for_one : Headroom::for_two});
      case 8: return post(SetSpares{below(3)});
      case 9: return below(2) ? lose() : judge();
      default: return judge();
    }
  }
  void run_for(Duration length) {
    const MonotonicTime end = now + length;
    long same_instant = 0;
    while (true) {
      const MonotonicTime timer = next_deadline(pool, now);
      const MonotonicTime next = std::min({end, timer, due.empty() ? never : due.begin()->first});
      if (next > now) {
        now = next;
        same_instant = 0;
      } else if (++same_instant > 1000) invariants.fail("spins without time passing");
      if (!due.empty() && due.begin()->first <= now) {
        const PoolEvent e = due.begin()->second;
        due.erase(due.begin());
        post(e);
      } else if (timer <= now) post(TimePassed{});
      else if (now >= end) return;
    }
  }
};
}  // namespace moult
