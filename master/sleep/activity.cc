#include "master/sleep/activity.h"

#include <algorithm>
#include <limits>
namespace moult {
namespace {
std::uint64_t in_flight(std::uint64_t started, std::uint64_t finished) {
  return started > finished ? started - finished : 0;
}

unsigned sum(unsigned all, std::uint64_t one) {
  constexpr unsigned most = std::numeric_limits<unsigned>::max();
  return one < most - all ? all + static_cast<unsigned>(one) : most;
}

// A worker writes what it wants: what no clock can say is no time.
MonotonicTime time_of(std::uint64_t nanoseconds) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() / 2);
  return MonotonicTime(Duration(static_cast<std::int64_t>(nanoseconds > most ? 0 : nanoseconds)));
}
}  // namespace

WorkerActivity read_activity(const std::function<std::uint64_t(ScoreboardField)>& read) {
  WorkerActivity seen;
  const std::uint64_t requests = read(ScoreboardField::requests_finished);
  const std::uint64_t calls = read(ScoreboardField::calls_finished);
  seen.requests = in_flight(read(ScoreboardField::requests_started), requests);
  seen.calls = in_flight(read(ScoreboardField::calls_started), calls);
  seen.upgraded = read(ScoreboardField::upgraded_connections);
  seen.connections = read(ScoreboardField::open_connections);
  seen.last_visitor_at = time_of(read(ScoreboardField::last_visitor_activity_ns));
  return seen;
}

void add(Activity& all, const WorkerActivity& one) {
  all.requests = sum(all.requests, one.requests);
  all.upgraded = sum(all.upgraded, one.upgraded);
  all.calls = sum(all.calls, one.calls);
  all.last_visitor_at = std::max(all.last_visitor_at, one.last_visitor_at);
}

std::uint64_t idle_connections(const WorkerActivity& one) {
  const std::uint64_t busy = std::max(one.requests, one.upgraded);
  return one.connections > busy ? one.connections - busy : 0;
}
}  // namespace moult
