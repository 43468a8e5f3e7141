#pragma once
// The sleep of one instance: its parts (the Sleeper, what it sweeps, its hooks, the saved state), and how they are
// joined to the others. Made by Instance; decides nothing.
#include <sys/resource.h>

#include <memory>
#include <optional>

#include "base/event_loop.h"
#include "master/connections/delivery_while_idle.h"
#include "master/control/operator.h"
#include "master/instance_connections.h"
#include "master/launch/hook.h"
#include "master/report/reporting.h"
#include "master/sleep/activity_sweep.h"
#include "master/sleep/app_due.h"
#include "master/sleep/caller.h"
#include "master/sleep/sleeper.h"
#include "master/sleep/state_file.h"
namespace moult {
struct Config;

class InstanceSleep {
 public:
  struct Others {  // all outlive it
    EventLoop& loop;
    Orphans& orphans;
    Supervisor& supervisor;
    InstanceConnections& connections;
    Caller& caller;
    Reporting& reporting;
  };
  // The last that becomes an observer of the supervisor.
  InstanceSleep(const Config&, std::optional<rlim_t> open_files_before, const Others&);
  InstanceSleep(const InstanceSleep&) = delete;
  InstanceSleep& operator=(const InstanceSleep&) = delete;

  void add_to(OperatorParts&);         // sleep and wake; and what a stop and a reload mean for them
  void start() { sleeper_->start(); }  // before the supervisor's
  void end();                          // before the doors are closed
  IdleDescription describe() const { return sleeper_->describe(); }

 private:
  SleeperParts parts(const Config&);
  Activity sweep();
  Underway before_sleep(SleepReason, Told);
  Underway deliver(Told);
  bool only_delivery_is_missing(const Activity&) const;
  void app_due(WallTime);

  Others others_;
  const Duration idle_;
  DeliveryWhileIdle delivery_while_idle_;
  HookOptions sleep_hook_;
  Hook wake_hook_;
  ActivitySweep activity_;
  AppDueTimes app_due_;
  std::unique_ptr<StateFile> state_file_;  // none: no --state-dir
  std::unique_ptr<Sleeper> sleeper_;
};
}  // namespace moult
