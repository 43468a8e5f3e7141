#pragma once
// What workers tell of their clients, and what it adds up to: may the app sleep? Pure; run by ActivitySweep.
#include <cstdint>
#include <functional>

#include "master/sleep/idle.h"
#include "worker/scoreboard.h"
namespace moult {
struct WorkerActivity {
  std::uint64_t requests = 0, calls = 0;  // in flight
  std::uint64_t upgraded = 0;             // of the requests
  std::uint64_t connections = 0;          // open, whatever they do
  MonotonicTime last_visitor_at{};        // zero: none yet
};

// `read` is a look at live memory. Those finished are read before those started, so that what happens between the two
// looks is seen as in flight and never missed; the last activity is read last of all.
WorkerActivity read_activity(const std::function<std::uint64_t(ScoreboardField)>& read);

// Of all workers: what is in flight anywhere, and the latest visitor.
void add(Activity& all, const WorkerActivity& one);

// Of its connections those on which nothing is being answered.
std::uint64_t idle_connections(const WorkerActivity&);
}  // namespace moult
