#pragma once
// All of moult's own speech: the log, the events, the status, the admin servers, the word to the service manager above
// us and the pid file. Made by Instance in two steps: open() before anything can go wrong that must be said, watch()
// when there is a supervisor to watch.
#include <uv.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "master/report/admin_server.h"
#include "master/report/call_reporter.h"
#include "master/report/delivery_reporter.h"
#include "master/report/event_reporter.h"
#include "master/report/event_stream.h"
#include "master/report/log.h"
#include "master/report/metrics.h"
#include "master/report/pid_file.h"
#include "master/report/recycle_reporter.h"
#include "master/report/service_manager.h"
#include "master/report/sleep_reporter.h"
#include "master/report/snapshot.h"
namespace moult {
struct ReportOptions {
  std::string name, version;
  LogOptions log;
  std::optional<std::string> events_file, pid_file;
  bool own_fleet = true;                          // --fleet local
  std::vector<AdminServerOptions> admin_servers;  // none: no thread, no snapshot
  ServiceManagerSettings service_manager;
};

// What the status and the metrics are made of.
struct ReportSources {
  Supervisor& supervisor;
  std::function<RecyclingDescription()> recycling;
  std::function<GateDescription()> gate;
  std::function<ParkingDescription()> parking;
  std::function<DeliveryDescription()> delivery;
  std::function<ScheduleDescription()> schedule;
  std::function<IdleDescription()> idle;
};

class Reporting {
 public:
  static Result<std::unique_ptr<Reporting>> open(uv_loop_t*, const ReportOptions&);
  ~Reporting();  // within the log's flush_at_exit and the servers' admin_farewell, however little is read
  Reporting(const Reporting&) = delete;
  Reporting& operator=(const Reporting&) = delete;

  // Who wants to hear of recycles: made known to the memory watch.
  std::vector<RecycleObserver*> recycle_observers() { return {recycle_reporter_.get(), &metrics_}; }
  void on_alarm(std::function<void(const std::string& event_line)> call) {
    recycle_reporter_->on_alarm(std::move(call));
  }
  void call_ended(const EndedCall& call) { call_reporter_->ended(call); }
  // Who wants to hear of sleeps: made known to the Sleeper.
  std::vector<SleepObserver*> sleep_observers() { return {sleep_reporter_.get(), &metrics_}; }
  void on_wake(std::function<void(const std::string& event_line)> call) { sleep_reporter_->on_wake(std::move(call)); }
  // The admin servers answer from now on. What is shown outlives us.
  Result<void> watch(ReportSources);

  Log& log() { return *log_; }
  // Lines of workers, to our own stdout and stderr. False: nobody reads, the line is lost.
  bool pass_on(int fd, std::string_view line);
  void server_is(const std::string& name) { server_ = name; }  // "uvicorn 0.17.6", as the fork server said
  void reopen();
  void stopping();
  void stopped(int exit_code);  // the last word
  DeliveryObserver& delivery_observer() { return *delivery_reporter_; }
  void say(const std::vector<std::string>& lines);  // to the log, for people
  void warn(const std::vector<std::string>& lines);
  void changed();  // something that no observer hears
  std::string status_document() const;
  EventStream& events() { return *stream_; }

 private:
  explicit Reporting(uv_loop_t* loop, const ReportOptions& options);
  Result<void> open_parts();
  Result<void> start_admin_servers();
  Snapshot take_snapshot() const;

  uv_loop_t* loop_;
  const ReportOptions options_;
  const MonotonicTime started_at_;
  std::string server_;
  std::optional<ReportSources> sources_;
  OomKills oom_kills_;
  Metrics metrics_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<LineWriter> passed_on_[2];  // stdout, stderr
  std::optional<PidFile> pid_file_;
  std::unique_ptr<EventLog> events_;
  std::unique_ptr<EventStream> stream_;
  std::unique_ptr<EventReporter> reporter_;
  std::unique_ptr<RecycleReporter> recycle_reporter_;
  std::unique_ptr<CallReporter> call_reporter_;
  std::unique_ptr<DeliveryReporter> delivery_reporter_;
  std::unique_ptr<ServiceManager> service_manager_;
  std::unique_ptr<SleepReporter> sleep_reporter_;
  std::shared_ptr<SnapshotBoard> board_ = std::make_shared<SnapshotBoard>();
  std::unique_ptr<SnapshotPublisher> publisher_;
  std::vector<std::unique_ptr<AdminServer>> admin_servers_;
};
}  // namespace moult
