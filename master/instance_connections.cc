// How many connections are kept between two workers, and for how long, from the command line: part of
// instance_options.h.
#include <sys/resource.h>

#include <algorithm>

#include "master/connections/parking.h"
#include "master/instance_options.h"
namespace moult::options {
namespace {
using namespace std::chrono_literals;

constexpr Duration patience = 30s;  // DESIGN §11, --wake-timeout
// With --keep-alive 0 only clients that have not spoken yet are idle; they are kept as long as by default.
constexpr Duration keep_alive_of_the_silent = 75s;

// Half of what is left when the master has what it needs itself; where that is next to nothing, an eighth.
std::size_t room_for_parking() {
  constexpr rlim_t own = 256, most = 4096;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t files = std::min(limit.rlim_cur, 2 * most + own);  // it may be infinite
  return std::max(files / 8, files > own ? (files - own) / 2 : 0);
}
}  // namespace

ParkingPolicy parking(const Config& config) {
  ParkingPolicy policy{.keep_alive = config.server.keep_alive, .patience = patience};
  if (policy.keep_alive == Duration::zero()) policy.keep_alive = keep_alive_of_the_silent;
  const bool adopts =
      config.app.kind != AppKind::command;  // what a command does with its connections is its own affair
  if (adopts) policy.most = config.connections.parking_max.value_or(room_for_parking());
  return policy;
}
}  // namespace moult::options
