// Random storms of wishes, crashes, lost generations and answers; after each of them calm, or a stop, at any moment.
#include <cstdlib>
#include "tests/unit/pool/pool_world.h"
using namespace moult;
using namespace std::chrono_literals;
namespace {
struct Totals {
  long steps = 0, forks = 0, goes = 0, retires = 0, questions = 0, rejected = 0, lost = 0, exits3 = 0, quick = 0;
};

bool ends(const World& w) { return w.pool.goal.mode != Mode::serve && w.pool.goal.mode != Mode::sleep; }

void storm(World& w) {
  w.load(0);
  w.post(ScaleTo{3});
  for (int i = 0; i < 200 && !ends(w); ++i) {
    w.run_for(w.up_to(w.below(4) ? 4s : 300ms));
    w.wish();
  }
}

void calm(World& w) {
  w.weather = World::Weather::calm;
  w.run_for(300s);
  w.post(SetMode{Mode::serve});
  w.post(ScaleTo{3});
  w.post(SetSpares{2});
  w.post(HeadroomChanged{Headroom::for_two});  // else no spare is forked
  w.load(0);
  const Generation newest{w.generation};
  w.bad.erase(newest.value);
  w.run_for(600s);
  for (const Worker& worker : std::vector<Worker>(w.pool.workers)) w.post(Judged{{{worker.id, Keep{}}}});
  w.run_for(600s);
  unsigned serving = 0, spare = 0;
  for (const Worker& worker : w.pool.workers) {
    if (worker.generation != newest) w.invariants.fail("not the newest code");
    serving += worker.state == WorkerState::serving;
    spare += worker.state == WorkerState::spare;
  }
  if (serving != 3 || spare != 2 || w.pool.workers.size() != 5)
    w.invariants.fail("did not converge to 3 workers and 2 spares");
  if (!w.pool.turns.empty()) w.invariants.fail("a turn is left over");
}

void stop(World& w, Totals& totals) {
  const auto& p = w.policy;
  const Duration drain = p.timeouts.graceful + p.timeouts.kill_after + 100ms;
  w.post(Stop{});
  w.run_for(w.up_to(w.below(2) ? 500ms : p.stop_delay + drain));
  w.wish();  // comes too late: it must not bring anybody back
  if (w.below(3) == 0) {
    ++totals.quick;
    w.post(StopQuickly{});
    w.run_for(p.timeouts.kill_after + 100ms);
  } else {
    w.run_for(p.stop_delay + drain);
  }
  if (w.pool.goal.mode != Mode::finished || !w.pool.workers.empty()) w.invariants.fail("did not stop");
}
}  // namespace

int main(int argc, char** argv) {
  const unsigned seeds = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 5000;
  Totals t;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    World w;
    w.random.seed(seed);
    w.invariants.seed = seed;
    storm(w);
    if (ends(w)) {  // nothing ever booted
      ++t.exits3;
      w.run_for(10s);
      if (w.pool.goal.mode != Mode::finished || w.pool.goal.exit_code != 3) w.invariants.fail("exit 3 does not finish");
    } else {
      if (seed % 2) calm(w);
      stop(w, t);
    }
    t.steps += w.count.steps;
    t.forks += w.count.forks;
    t.goes += w.count.goes;
    t.retires += w.count.retires;
    t.questions += w.count.questions;
    t.rejected += w.count.rejected;
    t.lost += w.count.lost;
  }
  std::printf(
      "%u seeds, %ld steps, %ld forks, %ld spares used, %ld retires, %ld gate questions, %ld generations rejected, "
      "%ld lost, %ld exits 3, %ld quick stops: all hold\n",
      seeds, t.steps, t.forks, t.goes, t.retires, t.questions, t.rejected, t.lost, t.exits3, t.quick);
  const auto& seen = PoolInvariants::seen;
  const auto seconds = [](Duration d) { return std::chrono::duration<double>(d).count(); };
  std::printf(
      "met: %ld together, %ld urgent alone, %ld in place, %ld urgent beside a turn, %ld waits of a third, "
      "%ld refills from the candidate, %ld wakes with new code, %ld stops with an heir\n",
      seen.together, seen.alone, seen.in_place, seen.urgent_beside_a_turn, seen.third_waited,
      seen.refills_from_candidate, seen.wakes_with_new_code, seen.stops_with_heir);
  std::printf("longest turn %.1f s, longest lease %.1f s\n", seconds(seen.longest_turn), seconds(seen.longest_lease));
}
