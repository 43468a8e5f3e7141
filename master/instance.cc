#include "master/instance.h"

#include <optional>
#include <utility>

#include "base/event_loop.h"
#include "master/control/supervisor_parts.h"
#include "master/instance_connections.h"
#include "master/instance_schedule.h"
#include "master/instance_sleep.h"
#include "master/launch/open_files.h"
#include "master/pool/capacity_teller.h"
#include "master/pool/close_announcer.h"
#include "master/pool/health_watch.h"
#include "master/report/fleet_report.h"
namespace moult {
namespace {
// What ends the building of the parts; never leaves this file.
struct CannotStart {
  Error error;
};

template <class T>
T must(Result<T> made) {
  return made ? *std::move(made) : throw CannotStart{made.error()};
}
void must(Result<void> done) { static_cast<void>(done ? 0 : throw CannotStart{done.error()}); }
}  // namespace

// In the order in which they are built; destroyed from the end.
struct Instance::Parts {
  EventLoop loop;
  std::optional<rlim_t> open_files_before;
  std::unique_ptr<Reporting> reporting;
  std::optional<Doors> doors;
  std::unique_ptr<Orphans> orphans;
  std::unique_ptr<Launcher> launcher;
  std::unique_ptr<FleetGate> gate;
  std::unique_ptr<Supervisor> supervisor;
  std::unique_ptr<InstanceConnections> connections;
  std::unique_ptr<CloseAnnouncer> close_announcer;
  std::unique_ptr<CapacityTeller> capacity_teller;
  std::unique_ptr<Caller> caller;
  std::unique_ptr<HealthWatch> health_watch;
  std::unique_ptr<MemoryWatch> memory_watch;
  std::unique_ptr<Hook> alarm_hook;
  std::unique_ptr<FleetReport> fleet_report;
  std::unique_ptr<InstanceSleep> sleep;
  std::unique_ptr<Controls> controls;
  std::function<Result<void>(unsigned)> affordable;
  unsigned workers = 0;
  int exit_code = 0;

  void build(const Config& config, const std::string& version);
  void leave();
  OperatorParts operator_parts();
};

void Instance::Parts::build(const Config& config, const std::string& version) {
  const ServiceManagerSettings service_manager = take_service_manager_settings();
  open_files_before = raise_open_files();
  reporting = must(Reporting::open(loop.get(), options::report(config, version, service_manager)));
  doors = must(Doors::open(options::listeners(config), options::private_folder(config)));
  orphans = must(Orphans::adopt(loop.get()));
  const InstalledParts installed = must(InstalledParts::find());
  launcher = must(
      make_launcher(loop.get(), *orphans, options::launch(config, *doors, installed, open_files_before, *reporting)));
  affordable = options::affordable(config);
  const GateOptions gate_options = must(options::gate(config, *reporting));
  gate = make_gate(loop.get(), gate_options, [this] { return capacity_of(supervisor->pool()); });
  supervisor = std::make_unique<Supervisor>(loop.get(), options::supervisor(config), *launcher, *gate);
  capacity_teller = std::make_unique<CapacityTeller>(*gate);
  supervisor->observe(*capacity_teller);
  caller = options::make_caller(loop.get(), config, gate_options, *doors, *supervisor, *reporting);
  supervisor->observe(*caller);
  close_announcer = std::make_unique<CloseAnnouncer>([this](WorkerId id) { return supervisor->link(id); });
  supervisor->observe(*close_announcer);
  connections =
      std::make_unique<InstanceConnections>(config, InstanceConnections::Others{loop, *doors, *supervisor, *reporting});
  supervisor->on_close_listeners([this](WorkerId) {
    sleep->end();
    connections->close_doors();
  });
  supervisor->on_finished([this](int code) {
    exit_code = code;
    sleep->end();
    connections->finish([this] { leave(); });
  });
  health_watch = std::make_unique<HealthWatch>(loop.get(), options::health(config), *supervisor);
  memory_watch = std::make_unique<MemoryWatch>(loop.get(), options::recycling(config), *supervisor,
                                               reporting->recycle_observers());
  must(reporting->watch({*supervisor, [this] { return memory_watch->describe(); }, [this] { return gate->describe(); },
                         [this] { return connections->keeper().describe(); },
                         [this] { return connections->delivery().describe(); }, [this] { return caller->describe(); },
                         [this] { return sleep->describe(); }}));
  alarm_hook = std::make_unique<Hook>(loop.get(), *orphans, options::alarm_hook(config, open_files_before, *reporting));
  reporting->on_alarm([this](const std::string& event_line) { alarm_hook->run(event_line); });
  reporting->say(options::saturation(config));
  supervisor->set_spares(config.workers.spares);
  workers = config.workers.count;
  fleet_report = std::make_unique<FleetReport>(loop.get(), *gate, options::fleet_names(config));
  sleep = std::make_unique<InstanceSleep>(
      config, open_files_before, InstanceSleep::Others{loop, *orphans, *supervisor, *connections, *caller, *reporting});
  controls = must(Controls::open(loop.get(), options::control(config, version), operator_parts()));
}

void Instance::Parts::leave() {
  const Budget farewell{monotonic_now(loop.get()) + longest_farewell};
  caller->leave(farewell, [this, farewell] {
    reporting->stopped(exit_code);
    gate->leave(farewell, [this] { uv_stop(loop.get()); });
  });
}

// A stop and another number of workers are seen by no observer of workers, so the report is told.
OperatorParts Instance::Parts::operator_parts() {
  OperatorParts wishes = supervisor_parts(*supervisor);
  wishes.stop = [this, stop = wishes.stop] {
    reporting->stopping();
    caller->stopping();
    connections->delivery_at_stop().enough();
    stop();
  };
  wishes.stop_quickly = [this, stop_quickly = wishes.stop_quickly] {
    reporting->stopping();
    caller->stopping();
    connections->delivery_at_stop().forgo();
    stop_quickly();
  };
  wishes.scale = [this, scale = wishes.scale](unsigned wanted) {
    scale(wanted);
    reporting->changed();
  };
  sleep->add_to(wishes);
  wishes.recycle = [this](std::optional<unsigned> slot) { return memory_watch->ask_to_go(slot); };
  wishes.affordable = affordable;
  wishes.room_for_a_reload = [this] { return memory_watch->room_for_a_reload(); };
  wishes.reopen_logs = [this] { reporting->reopen(); };
  wishes.status_document = [this] { return reporting->status_document(); };
  wishes.fleet_document = [this](auto told) { fleet_report->ask(std::move(told)); };
  wishes.events = [this](const EventsCommand& asked, auto told) {
    reporting->events().ask({asked.after, asked.wait}, std::move(told));
  };
  wishes.run_call = [this](const std::string& name, auto ended) {
    return caller->run(name, [ended = std::move(ended)](const EndedCall& call) { ended(ended_call_json(call)); });
  };
  wishes.say = [this](const std::string& line) { reporting->log().info(line); };
  return wishes;
}

Instance::Instance(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Instance::~Instance() = default;

Result<std::unique_ptr<Instance>> Instance::create(const Config& config, const std::string& version) {
  auto parts = std::make_unique<Parts>();
  try {
    parts->build(config, version);
  } catch (const CannotStart& failure) { return failure.error; }
  return std::unique_ptr<Instance>(new Instance(std::move(parts)));
}

int Instance::run() {
  parts_->sleep->start();
  parts_->supervisor->start(parts_->workers);
  parts_->caller->start();
  uv_run(parts_->loop.get(), UV_RUN_DEFAULT);
  wait_until_idle(parts_->loop.get(), *parts_->launcher);
  return parts_->exit_code;
}
}  // namespace moult
