// What a look at one worker costs the master: the sample (at most 5 us), and what is made of it (at most 150 ns). The
// precise sample is rare (sampling.h), and here to compare with.
#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "recycler/decide.h"
#include "recycler/record.h"
#include "recycler/worker_memory.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
constexpr std::size_t worker_bytes = 100 * megabyte;

// A process with so much memory touched, which waits until it is killed here.
class IdleWorker {
 public:
  IdleWorker() {
    std::array<int, 2> touched{};
    if (::pipe(touched.data()) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
      if (::mmap(nullptr, worker_bytes, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) ::_exit(1);
      if (::write(touched[1], "", 1) != 1) ::_exit(1);
      while (true) ::pause();
    }
    ::close(touched[1]);
    char byte = 0;
    if (::read(touched[0], &byte, 1) != 1) end();
    ::close(touched[0]);
  }
  IdleWorker(const IdleWorker&) = delete;
  IdleWorker& operator=(const IdleWorker&) = delete;
  ~IdleWorker() { end(); }
  pid_t pid() const { return pid_; }

 private:
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  pid_t pid_ = -1;
};

template <class Look>
void of_a_real_process(benchmark::State& state, Look look) {
  const IdleWorker worker;
  const auto memory = WorkerMemory::open(worker.pid());
  if (!memory) return state.SkipWithError(memory.error().message.c_str());
  for (auto turn : state) {
    auto seen = look(*memory);
    if (!seen) return state.SkipWithError(seen.error().message.c_str());
    benchmark::DoNotOptimize(seen);
  }
}
void sample(benchmark::State& state) {
  of_a_real_process(state, [](const WorkerMemory& memory) { return memory.rss_bytes(); });
}
void precise_sample(benchmark::State& state) {
  of_a_real_process(state, [](const WorkerMemory& memory) { return memory.rollup(); });
}

// A look a second at a worker whose memory moves around `rss_bytes`.
void observe_and_decide(benchmark::State& state, std::uint64_t rss_bytes) {
  RecyclePolicy policy;
  policy.limit = limit_policy(100 * megabyte);
  policy.max_requests = 1'000'000'000'000;
  policy.max_lifetime = 100'000h;
  policy.busy_requests_per_second = 50;
  Random random{1};
  MonotonicTime now{1000s};
  const LimitRange range{100 * megabyte, 100 * megabyte, 130 * megabyte};
  WorkerRecord record = make_record({1}, 50 * megabyte, range, policy, random, now);
  const InstanceReading instance{1000 * megabyte, now, std::nullopt};
  WorkerReading reading{rss_bytes, 0, 10, true};
  for (auto turn : state) {
    now += 1ms;
    reading.requests += 1;
    reading.rss_bytes ^= 4096;
    record = observe(record, reading, policy, now);
    Decision decision = decide(record, instance, policy, now);
    benchmark::DoNotOptimize(decision);
  }
}
void observe_and_decide_far_below_the_limit(benchmark::State& state) { observe_and_decide(state, 60 * megabyte); }
void observe_and_decide_over_the_limit(benchmark::State& state) { observe_and_decide(state, 110 * megabyte); }
void observe_and_decide_over_the_hard_limit(benchmark::State& state) { observe_and_decide(state, 150 * megabyte); }

BENCHMARK(sample);
BENCHMARK(precise_sample)->Unit(benchmark::kMicrosecond);
BENCHMARK(observe_and_decide_far_below_the_limit);
BENCHMARK(observe_and_decide_over_the_limit);
BENCHMARK(observe_and_decide_over_the_hard_limit);
}  // namespace
}  // namespace moult
