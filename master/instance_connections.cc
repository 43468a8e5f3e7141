#include "master/instance_connections.h"

#include <sys/resource.h>

#include <algorithm>
#include <string>
#include <utility>

#include "master/instance_options.h"
#include "master/launch/open_files.h"
namespace moult {
namespace options {
namespace {
using namespace std::chrono_literals;

// With --keep-alive 0 only clients that have not spoken yet are idle; they are kept as long as by default.
constexpr Duration keep_alive_of_the_silent = 75s;

constexpr rlim_t own = 256, most_by_default = 4096;

rlim_t open_files() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;  // it may be infinite
}

// What is left when the master has what it needs itself; where that is next to nothing, an eighth. Beside it the keeper
// takes none while a launch would find no room.
std::size_t most_that_fit() { return std::max(open_files() / 8, open_files() > own ? open_files() - own : 0); }

// Half of that, at most.
std::size_t room_for_parking() {
  const rlim_t files = std::min(open_files(), 2 * most_by_default + own);
  return std::max(files / 8, files > own ? (files - own) / 2 : 0);
}
}  // namespace

ParkingPolicy parking(const Config& config) {
  ParkingPolicy policy{.keep_alive = config.server.keep_alive, .patience = config.sleep.wake_timeout};
  if (policy.keep_alive == Duration::zero()) policy.keep_alive = keep_alive_of_the_silent;
  const bool adopts =
      config.app.kind != AppKind::command;  // what a command does with its connections is its own affair
  if (adopts)
    policy.most = std::min<std::size_t>(config.connections.parking_max.value_or(room_for_parking()), most_that_fit());
  return policy;
}

// Where it is not sure that workers take connections, a bare connect wakes the app, until one has said so: else its
// client could wait for a worker that never takes it.
WhileAsleep while_asleep(const Config& config) {
  const auto& kind = config.server.worker_class;
  const bool is_known = kind == "auto" || kind == "uvicorn" || kind == "gthread";
  return {.ignored_paths = config.connections.idle_ignore,
          .workers_adopt = config.app.kind == AppKind::python && is_known && !config.server.certfile};
}

std::size_t descriptors_of_a_wake(const Config& config) { return config.workers.count * descriptors_of_a_worker; }

DeliveryPolicy delivery(const Config& config) { return {config.connections.linger_timeout}; }

std::vector<std::string> parking_cut(const Config& config) {
  const auto& wanted = config.connections.parking_max;
  const std::size_t most = parking(config).most;
  if (!wanted || config.app.kind == AppKind::command || *wanted <= most) return {};
  return {"--parking-max " + std::to_string(*wanted) + " is cut to " + std::to_string(most) +
          ": the limit of open files is " + std::to_string(open_files()) + ". Raise it (ulimit -n, LimitNOFILE=)"};
}
}  // namespace options

InstanceConnections::InstanceConnections(const Config& config, const Others& others)
    : others_(others),
      keeper_(
          others.loop.get(), options::parking(config), [this](WorkerId id) { return others_.supervisor.link(id); },
          [] { return room_for_a_parked_connection(); }, options::while_asleep(config)),
      delivery_(others.loop.get(), tcp_doors(others.doors.listeners.descriptors()), options::delivery(config),
                {.link = [this](WorkerId id) { return others_.supervisor.link(id); },
                 .room = [] { return room_for_a_parked_connection(); },
                 .parked = [this](std::uint64_t inode) { return keeper_.descriptor(inode); },
                 .observer = &others.reporting.delivery_observer()}),
      delivery_at_stop_(others.loop.get(), delivery_, others.reporting.delivery_observer()),
      sleeping_doors_(
          others.loop.get(), keeper_, [this] { return others_.doors.listeners.descriptors(); },
          [needed = options::descriptors_of_a_wake(config)] { return room_for_a_launch(needed); }),
      sidecar_door_(others.loop.get(), others.doors.sidecar_fd()),
      backlog_(others.loop.get(), keeper_) {
  others.supervisor.observe(keeper_);
  others.supervisor.on_connections(events());
  others.reporting.say(options::parking_cut(config));
}

ConnectionEvents InstanceConnections::events() {
  ConnectionEvents all = keeper_.events();
  all.closing = [this](WorkerId from, std::uint64_t as, UniqueFd fd) { delivery_.close(from, as, std::move(fd)); };
  return all;
}

void InstanceConnections::close_doors() {
  others_.doors.shut();
  backlog_.hand_over(others_.doors.listeners.descriptors(), [this] {
    close_all_doors();
    others_.supervisor.listeners_closed();
  });
}

void InstanceConnections::close_all_doors() {
  sidecar_door_.close();
  others_.doors.close();
}

void InstanceConnections::finish(std::function<void()> gone) {
  close_all_doors();  // nobody will serve who comes while we take our leave
  keeper_.finish([this, gone = std::move(gone)]() mutable { delivery_at_stop_.wait(std::move(gone)); });
}
}  // namespace moult
