#include "master/instance_sleep.h"

#include <utility>

#include "master/instance_options.h"
namespace moult {
namespace options {
namespace {
using namespace std::chrono_literals;

// Beside the hook, the grace of the workers, what kills them and what is on its way to clients (as at a stop): time for
// the loop to hear of it.
constexpr Duration stop_margin = 10s;
}  // namespace

IdlePolicy idle(const Config& config) {
  const Duration hook = config.sleep.on_sleep ? HookOptions{}.runs_at_most : Duration::zero();
  return {.idle = config.sleep.idle,
          .wake_timeout = config.sleep.wake_timeout,
          .stop_timeout = hook + config.stop.graceful_timeout + config.hang.kill_after +
                          DeliveryAtStop::most_patiences * config.connections.linger_timeout + stop_margin,
          .warm_for = config.sleep.warmth == Warmth::nothing ? Duration::zero() : config.sleep.warm_for};
}
}  // namespace options

namespace {
std::optional<std::string> state_path(const Config& config) {
  if (!config.sleep.state_dir) return std::nullopt;
  return *config.sleep.state_dir + "/" + config.process.name + ".idle";
}

unsigned spares_while_asleep(Warmth warmth) {
  switch (warmth) {
    case Warmth::spare: return 1;
    case Warmth::fork_server:
    case Warmth::nothing: break;
  }
  return 0;
}

WallTime wall_now() { return std::chrono::system_clock::now(); }
}  // namespace

InstanceSleep::InstanceSleep(const Config& config, std::optional<rlim_t> open_files_before, const Others& others)
    : others_(others),
      idle_(config.sleep.idle),
      delivery_while_idle_(others.connections.delivery(), others.reporting.delivery_observer()),
      sleep_hook_(options::sleep_hook(config, open_files_before, others.reporting)),
      wake_hook_(others.loop.get(), others.orphans, options::wake_hook(config, open_files_before, others.reporting)),
      activity_({[this]() -> const Pool& { return others_.supervisor.pool(); },
                 [this](WorkerId id) { return others_.supervisor.link(id); }}),
      app_due_({.now = wall_now,
                .due = [this](WallTime due) { app_due(due); },
                .warn = [this](const std::string& line) { others_.reporting.log().warning(line); }}) {
  IdleState saved = IdleState::active;
  if (const auto path = state_path(config)) {
    saved = read_state_file(*path);
    state_file_ = std::make_unique<StateFile>(
        others_.loop.get(), *path, [this](const std::string& line) { others_.reporting.log().warning(line); });
  }
  sleeper_ = std::make_unique<Sleeper>(others_.loop.get(), options::idle(config), saved, parts(config));
  for (SleepObserver* each : others_.reporting.sleep_observers()) sleeper_->observe(*each);
  others_.connections.sleeping_doors().on_caller([this] { sleeper_->caller_waits(); });
  others_.caller.on_call_due = [this] { sleeper_->call_due(); };
  others_.caller.on_no_call_waits = [this] { sleeper_->no_call_waits(); };
  others_.reporting.on_wake([this](const std::string& event_line) { wake_hook_.run(event_line); });
  others_.supervisor.on_wake_failed([this](const std::string& cause) { sleeper_->wake_failed(cause); });
  others_.supervisor.observe(activity_);
  others_.supervisor.observe(app_due_);
  others_.supervisor.observe(*sleeper_);
}

SleeperParts InstanceSleep::parts(const Config& config) {
  Supervisor& supervisor = others_.supervisor;
  SleeperParts parts;
  parts.pool = [&]() -> const Pool& { return supervisor.pool(); };
  parts.sweep = [this] { return sweep(); };
  parts.next_call_due = [this] { return others_.caller.next_call_due(); };
  parts.sleep = [&] { supervisor.sleep(); };
  parts.serve = [&] { supervisor.wake(); };
  parts.keep_warm = [&, asleep = spares_while_asleep(config.sleep.warmth), awake = config.workers.spares](bool keep) {
    supervisor.set_spares(keep ? asleep : awake);
  };
  parts.drop_warmth = [&] { supervisor.drop_warmth(); };
  parts.watch_callers = [this](bool on) {
    others_.connections.sleeping_doors().watch(on);
    others_.connections.sidecar_door().refuse(on);
  };
  parts.refuse_callers = [this](MonotonicTime until) { others_.connections.sleeping_doors().refuse(until); };
  parts.admit_callers = [this] { others_.connections.sleeping_doors().admit(); };
  parts.save = [this](IdleState state) {
    if (state_file_) state_file_->save(state);
  };
  parts.trouble = [&] { return supervisor.trouble_in_wake(); };
  if (config.sleep.on_sleep)
    parts.before_sleep = [this](SleepReason why, Told told) { return before_sleep(why, std::move(told)); };
  parts.deliver = [this](Told told) { return deliver(std::move(told)); };
  return parts;
}

// Whom a worker is still to take has called, too.
Activity InstanceSleep::sweep() {
  ActivitySweep::Seen seen = activity_.look();
  const ParkingDescription parked = others_.connections.keeper().describe();
  seen.activity.requests += static_cast<unsigned>(parked.callers + parked.offered);
  seen.activity.undelivered = static_cast<unsigned>(others_.connections.delivery().undelivered());
  seen.activity.has_room_to_park = others_.connections.sleeping_doors().has_room_for(seen.idle_connections);
  delivery_while_idle_.look(only_delivery_is_missing(seen.activity));
  return seen.activity;
}

bool InstanceSleep::only_delivery_is_missing(const Activity& seen) const {
  const bool somebody_is_served = seen.requests + seen.upgraded + seen.calls > 0;
  const bool window_is_over = sleeper_->describe().since >= idle_ &&  // since the wake, or the start
                              monotonic_now(others_.loop.get()) - seen.last_visitor_at >= idle_;
  return seen.undelivered > 0 && !somebody_is_served && seen.has_room_to_park && window_is_over;
}

Underway InstanceSleep::before_sleep(SleepReason why, Told told) {
  const std::string event = R"({"event":"before_sleep","reason":")" + std::string(name_of(why)) + "\"}";
  return std::make_shared<HookRun>(others_.loop.get(), others_.orphans, sleep_hook_, event, std::move(told));
}

Underway InstanceSleep::deliver(Told told) {
  delivery_while_idle_.end();
  return others_.connections.delivery().watch(
      DeliveryWish::before_sleep, [this, told = std::move(told)](DeliveryVerdict verdict) {
        if (verdict == DeliveryVerdict::delivered) return told({});
        const DeliveryDescription left = others_.connections.delivery().describe();
        others_.reporting.delivery_observer().failed_closed(failed_before_sleep(left));
        told(Error{"some answers have not arrived, and could not be ended"});
      });
}

void InstanceSleep::end() {
  delivery_while_idle_.end();
  sleeper_->end();
}

// If the clock is set while the app sleeps, it wakes by so much too soon or too late.
void InstanceSleep::app_due(WallTime due) { sleeper_->app_due(monotonic_now(others_.loop.get()) + (due - wall_now())); }

void InstanceSleep::add_to(OperatorParts& wishes) {
  wishes.sleep = [this](Told told) { sleeper_->sleep(std::move(told)); };
  wishes.wake = [this](Told told) { sleeper_->wake(std::move(told)); };
  wishes.stop = [this, stop = wishes.stop] {
    end();
    stop();
  };
  wishes.stop_quickly = [this, stop_quickly = wishes.stop_quickly] {
    end();
    stop_quickly();
  };
  wishes.reload = [this, reload = wishes.reload](auto finished) {
    reload(std::move(finished));
    sleeper_->code_changed();
  };
}
}  // namespace moult
