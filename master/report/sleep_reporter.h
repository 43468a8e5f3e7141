#pragma once
// Says when the app sleeps and wakes: log lines for people, events for machines, and the word to the service manager.
// Owned by Reporting, called by the Sleeper on the loop's thread. Decides nothing.
#include <functional>
#include <string>

#include "master/report/event.h"
#include "master/report/log.h"
#include "master/report/service_manager.h"
#include "master/sleep/sleep_observer.h"
namespace moult {
struct SleepReporterParts {
  Log& log;
  EventSink* events;  // null: nobody listens
  std::string instance;
  ServiceManager& service_manager;
  std::function<void()> changed;                         // the picture for admin threads is old
  std::function<void(const std::string&)> on_wake = {};  // the event line, for --on-wake
  std::function<Clocks()> clocks = {};                   // for tests; none: the real ones
};

class SleepReporter : public SleepObserver {
 public:
  explicit SleepReporter(SleepReporterParts);  // the parts outlive it
  void on_wake(std::function<void(const std::string&)> call) { parts_.on_wake = std::move(call); }

  void slept(const FellAsleep&) override;
  void woke(const WokeUp&) override;
  void wake_failed(const FailedWake&) override;
  void stop_failed(const FailedStop&) override;
  void idle_state_changed(IdleState) override;

 private:
  void tell(const Event&);
  SleepReporterParts parts_;
};
}  // namespace moult
