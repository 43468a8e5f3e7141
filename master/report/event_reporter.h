#pragma once
// Says what becomes of workers and of the app's code: log lines for people, events for machines. Owned by Instance,
// called by the Supervisor on the loop's thread. Decides nothing.
//
// A cause (a traceback, a signal) is logged in full once per change, then counted (repeated_cause.h). Events are never
// held back; only the text of a repeated boot failure's cause is.
#include <functional>
#include <map>
#include <string>

#include "base/clock.h"
#include "master/pool/worker_observer.h"
#include "master/report/event_log.h"
#include "master/report/log.h"
#include "master/report/oom_kills.h"
#include "master/report/reload_progress.h"
#include "master/report/repeated_cause.h"
namespace moult {
struct EventReporterParts {
  Log& log;
  EventSink* events;  // null: nobody listens
  OomKills& oom_kills;
  std::string version;
  std::function<Clocks()> clocks = {};  // for tests; none: the real ones
};

class EventReporter : public WorkerObserver {
 public:
  explicit EventReporter(EventReporterParts);  // the parts outlive it

  void master_started();               // called by Reporting, once
  void master_stopped(int exit_code);  // likewise: nothing is left to be done but to leave

  void worker_serving(const Worker&, pid_t) override;
  void worker_retiring(const Worker&, pid_t) override;
  void boot_failed(const Worker&, const Exit&) override;
  void boot_abandoned(const Worker&, const Exit&) override;
  void worker_gone(const Worker&, const Exit&) override;
  void worker_hung(const Worker&, pid_t, const std::string& why) override;
  void worker_refused(const Worker&, pid_t, const std::string& what) override;
  void load_started(Generation) override;
  void generation_proven(Generation) override;
  void reloaded_asleep(Generation) override;
  void generation_rejected(Generation, const std::string& cause) override;
  void fork_server_gone(Generation, const Exit&) override;
  void stop_finished(int) override;

 private:
  void tell(const Event&);
  void tell_reload_end();
  // Logs `what: cause`, or that the same came again, or nothing.
  std::uint64_t log_cause(RepeatedCause&, LogLevel, const std::string& what, const std::string& cause);
  void end_cause(RepeatedCause&, const std::string& which);
  MonotonicTime now() const { return parts_.clocks().monotonic; }

  EventReporterParts parts_;
  MonotonicTime started_at_;
  std::map<WorkerId, MonotonicTime> ready_at_;  // of those that live
  RepeatedCause boot_cause_, crash_cause_, load_cause_;
  Generation failing_;  // whose boots failed last
  Generation proven_;
  ReloadProgress reload_;
};
}  // namespace moult
