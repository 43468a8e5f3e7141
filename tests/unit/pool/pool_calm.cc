// No serving worker crashes and there is headroom: what do the wishes cost? Routine turns and reloads, with
// successors that fail and bad generations, cost no capacity at all; urgent ones do (how much is the gate's to say),
// but never the last worker.
#include <chrono>
#include <cstdio>
#include <map>
#include <random>
#include <set>
#include "master/pool/pool.h"
using namespace moult;
using namespace std::chrono_literals;
namespace {
enum class Wishes { routine, urgent };
struct Cost {
  long steps = 0, retires = 0;
  unsigned deepest_dip = 0;
};

class Calm {
 public:
  Calm(unsigned seed, Wishes wishes, Cost& cost) : random_(seed), wishes_(wishes), cost_(cost) {}
  void run() {
    post(ScaleTo{wanted_});
    post(GenerationLoaded{{generation_}});
    run_for(10s);
    for (int i = 0; i < 100; ++i) {
      run_for(1ms * below(3000));
      wish();
    }
  }

 private:
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  void wish() {
    if (below(4) == 0) {
      if (below(2)) bad_.insert(++generation_);
      else ++generation_;
      return post(GenerationLoaded{{generation_}});
    }
    const Worker& w = pool_.workers[below(static_cast<unsigned>(pool_.workers.size()))];
    const Urgency urgency = wishes_ == Wishes::routine ? Urgency::routine : static_cast<Urgency>(below(3));
    post(Judged{{{w.id, Recycle{Cause::limit, urgency, {}}}}});
  }
  void perform(const PoolAction& action) {
    const auto at = [&](unsigned most) { return now_ + 1ms * (1 + below(most)); };
    if (const auto* spawn = std::get_if<Spawn>(&action)) {
      const bool dies = bad_.contains(spawn->generation.value) || (up_ && below(4) == 0);
      if (dies) due_.emplace(at(2000), WorkerGone{spawn->id});
      else due_.emplace(at(2000), WorkerReady{spawn->id});
    }
    if (const auto* retire = std::get_if<SendRetire>(&action)) {
      ++cost_.retires;
      due_.emplace(at(4000), WorkerGone{retire->id});
    }
    if (const auto* signal = std::get_if<SendSignal>(&action)) due_.emplace(at(1), WorkerGone{signal->id});
    if (const auto* ask = std::get_if<AskGate>(&action)) {
      if (below(3)) due_.emplace(at(3000), GateAnswered{ask->ask, Granted{1, true, {}}});
      else due_.emplace(at(3000), GateAnswered{ask->ask, Refused{Refusal::no_tokens, 2s}});
    }
  }
  void post(const PoolEvent& event) {
    ++cost_.steps;
    auto step = transition(std::move(pool_), event, policy_, now_);
    pool_ = std::move(step.state);
    for (const auto& action : step.actions) perform(action);
    std::set<unsigned> served;
    for (const Worker& w : pool_.workers)
      if (w.state == WorkerState::serving) served.insert(*w.slot);
    if (served.size() == wanted_) up_ = true;
    else if (up_) cost_.deepest_dip = std::max(cost_.deepest_dip, wanted_ - static_cast<unsigned>(served.size()));
  }
  void run_for(Duration length) {
    const MonotonicTime end = now_ + length;
    while (true) {
      now_ = std::max(now_, std::min({end, next_deadline(pool_, now_), due_.empty() ? never : due_.begin()->first}));
      if (!due_.empty() && due_.begin()->first <= now_) {
        const PoolEvent e = due_.begin()->second;
        due_.erase(due_.begin());
        post(e);
      } else if (now_ >= end) return;
      else post(TimePassed{});
    }
  }
  std::mt19937_64 random_;
  Wishes wishes_;
  Cost& cost_;
  PoolPolicy policy_{{10s, 5s, 2s}, 5, {1s, 30s}, 1s, 0s};
  Pool pool_;
  MonotonicTime now_{100s};
  std::multimap<MonotonicTime, PoolEvent> due_;
  std::set<std::uint64_t> bad_;
  std::uint64_t generation_ = 1;
  unsigned wanted_ = 4;
  bool up_ = false;  // all served once: from now on a dip counts
};

void measure_a_step() {
  PoolPolicy policy{{10s, 5s, 2s}, 5, {1s, 30s}, 1s, 0s};
  Pool pool;
  const MonotonicTime now{100s};
  const auto post = [&](const PoolEvent& e) {
    auto s = transition(std::move(pool), e, policy, now);
    pool = std::move(s.state);
    return s.actions;
  };
  post(ScaleTo{8});
  for (const auto& a : post(GenerationLoaded{{1}}))
    if (const auto* spawn = std::get_if<Spawn>(&a)) post(WorkerReady{spawn->id});
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 1'000'000; ++i) post(TimePassed{});
  std::printf("a step of 8 settled workers: %.0f ns\n",
              std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / 1e6);
}
}  // namespace

int main() {
  Cost routine, urgent;
  for (unsigned seed = 1; seed <= 1000; ++seed) Calm(seed, Wishes::routine, routine).run();
  for (unsigned seed = 1; seed <= 1000; ++seed) Calm(seed, Wishes::urgent, urgent).run();
  std::printf("routine: %ld steps, %ld retired, deepest dip %u of 4\n", routine.steps, routine.retires,
              routine.deepest_dip);
  std::printf("urgent: %ld steps, %ld retired, deepest dip %u of 4\n", urgent.steps, urgent.retires,
              urgent.deepest_dip);
  measure_a_step();
  return routine.deepest_dip == 0 && urgent.deepest_dip < 4 ? 0 : 1;
}
