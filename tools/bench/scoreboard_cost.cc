// What counting costs a C++ worker, a request: started, oldest in flight, finished, last activity, with the clock read
// twice, as ForkedWorker does. At most 1 us. The Python side is counting_cost.py.
#include <benchmark/benchmark.h>

#include <ctime>
#include <deque>

#include "worker/request_counter.h"
#include "worker/scoreboard_memory.h"
namespace moult {
namespace {
using Caller = WorkerContext::Caller;

std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

// Others are in flight that began before: the argument says how many.
void one_request(benchmark::State& state, Caller caller) {
  auto scoreboard = ScoreboardMemory::create();
  if (!scoreboard) return state.SkipWithError(scoreboard.error().message.c_str());
  RequestCounter counter(*scoreboard);
  for (std::int64_t other = 0; other < state.range(0); ++other) counter.started(Caller::visitor, now_ns());
  for (auto turn : state) {
    const auto request = counter.started(caller, now_ns());
    counter.finished(request, 200, now_ns());
  }
}

void a_visitor(benchmark::State& state) { one_request(state, Caller::visitor); }
void a_scheduled_call(benchmark::State& state) { one_request(state, Caller::schedule); }

// Each turn ends the oldest of those in flight, so that another one becomes the oldest.
void the_oldest_ends(benchmark::State& state) {
  auto scoreboard = ScoreboardMemory::create();
  if (!scoreboard) return state.SkipWithError(scoreboard.error().message.c_str());
  RequestCounter counter(*scoreboard);
  std::deque<WorkerContext::Request> in_flight;
  for (std::int64_t other = 0; other < state.range(0); ++other)
    in_flight.push_back(counter.started(Caller::visitor, now_ns()));
  for (auto turn : state) {
    in_flight.push_back(counter.started(Caller::visitor, now_ns()));
    counter.finished(in_flight.front(), 200, now_ns());
    in_flight.pop_front();
  }
}

void a_stream(benchmark::State& state) {
  auto scoreboard = ScoreboardMemory::create();
  if (!scoreboard) return state.SkipWithError(scoreboard.error().message.c_str());
  RequestCounter counter(*scoreboard);
  for (auto turn : state) {
    const auto request = counter.started(Caller::visitor, now_ns());
    counter.is_long(request);
    counter.finished(request, 200, now_ns());
  }
}

BENCHMARK(a_visitor)->ArgName("others")->Arg(0)->Arg(10)->Arg(1000);
BENCHMARK(the_oldest_ends)->ArgName("others")->Arg(10)->Arg(1000);
BENCHMARK(a_stream);
BENCHMARK(a_scheduled_call)->ArgName("others")->Arg(0);
}  // namespace
}  // namespace moult
