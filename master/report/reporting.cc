#include "master/report/reporting.h"

#include <unistd.h>

#include "base/machine.h"
#include "master/report/status_json.h"
namespace moult {
Reporting::Reporting(uv_loop_t* loop, const ReportOptions& options)
    : loop_(loop), options_(options), started_at_(monotonic_now(loop)), metrics_(options.version) {}

Result<std::unique_ptr<Reporting>> Reporting::open(uv_loop_t* loop, const ReportOptions& options) {
  std::unique_ptr<Reporting> reporting(new Reporting(loop, options));
  if (auto opened = reporting->open_parts(); !opened) return opened.error();
  return reporting;
}

// All writers get the same moment, so that several that nobody reads do not add up.
Reporting::~Reporting() {
  admin_servers_.clear();
  const MonotonicTime end = std::chrono::steady_clock::now() + options_.log.flush_at_exit;
  for (const auto& each : passed_on_)
    if (each) each->end_by(end);
  if (events_) events_->end_by(end);
  if (log_) log_->end_by(end);
}

Result<void> Reporting::open_parts() {
  auto log = Log::start(options_.log);
  if (!log) return log.error();
  log_ = std::move(*log);

  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    const auto say_dropped = [](std::uint64_t count) {
      return "moult: " + std::to_string(count) + " lines of workers were lost, because nobody read them\n";
    };
    auto writer = LineWriter::start(Output::duplicate_of(fd), {.say_dropped = say_dropped});
    if (!writer) return writer.error();
    passed_on_[fd - STDOUT_FILENO] = std::move(*writer);
  }

  if (options_.pid_file) {
    auto file = PidFile::create(*options_.pid_file);
    if (!file) return file.error();
    pid_file_ = std::move(*file);
  }
  if (options_.events_file) {
    auto events = EventLog::open(
        {*options_.events_file, options_.name, [this](const std::string& line) { log_->warning(line); }});
    if (!events) return events.error();
    events_ = std::move(*events);
  }
  stream_ = std::make_unique<EventStream>(loop_, options_.name, events_.get());
  auto service_manager = ServiceManager::create(loop_, options_.service_manager);
  if (!service_manager) return service_manager.error();
  service_manager_ = std::move(*service_manager);
  reporter_ = std::make_unique<EventReporter>(EventReporterParts{*log_, stream_.get(), oom_kills_, options_.version});
  recycle_reporter_ =
      std::make_unique<RecycleReporter>(RecycleReporterParts{*log_, stream_.get(), options_.name, options_.own_fleet});
  call_reporter_ = std::make_unique<CallReporter>(CallReporterParts{*log_, stream_.get()});
  delivery_reporter_ = std::make_unique<DeliveryReporter>(*log_, stream_.get(), *service_manager_);
  sleep_reporter_ = std::make_unique<SleepReporter>(
      SleepReporterParts{*log_, stream_.get(), options_.name, *service_manager_, [this] { changed(); }});
  return {};
}

Result<void> Reporting::watch(ReportSources sources) {
  Supervisor& supervisor = sources.supervisor;
  sources_.emplace(std::move(sources));
  supervisor.observe(*reporter_);
  supervisor.observe(*service_manager_);
  supervisor.observe(metrics_);
  reporter_->master_started();
  if (options_.admin_servers.empty()) return {};
  publisher_ = std::make_unique<SnapshotPublisher>(loop_, board_, [this] {
    Snapshot taken = take_snapshot();
    taken.metrics = metrics_.collect({.pool = taken.pool,
                                      .recycling = taken.recycling,
                                      .gate = taken.gate,
                                      .parking = taken.parking,
                                      .delivery = taken.delivery,
                                      .schedule = taken.schedule,
                                      .idle = *taken.idle,
                                      .lost = {taken.facts.log_lines_dropped, taken.facts.events_dropped},
                                      .oom_kills = oom_kills_.explained()});
    return taken;
  });
  supervisor.observe(*publisher_);
  return start_admin_servers();
}

Result<void> Reporting::start_admin_servers() {
  for (const AdminServerOptions& options : options_.admin_servers) {
    auto server = AdminServer::start(options, board_);
    if (!server) return server.error();
    admin_servers_.push_back(std::move(*server));
  }
  return {};
}

bool Reporting::pass_on(int fd, std::string_view line) {
  passed_on_[fd == STDERR_FILENO]->write(std::string(line) + "\n");
  return true;  // what the writer could not take it counts and says itself
}

void Reporting::reopen() {
  if (events_) events_->reopen();
}

void Reporting::stopping() {
  service_manager_->stopping();
  changed();
}

void Reporting::stopped(int exit_code) { reporter_->master_stopped(exit_code); }

void Reporting::say(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) log_->info(line);
}

void Reporting::warn(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) log_->warning(line);
}

void Reporting::changed() {
  if (publisher_) publisher_->changed();
}

Snapshot Reporting::take_snapshot() const {
  return {.pool = sources_->supervisor.describe(),
          .facts = {.version = options_.version,
                    .name = options_.name,
                    .server = server_,
                    .pid = getpid(),
                    .uptime = monotonic_now(loop_) - started_at_,
                    .log_lines_dropped = log_->dropped() + passed_on_[0]->dropped() + passed_on_[1]->dropped(),
                    .events_dropped = events_ ? events_->dropped() : 0,
                    .now = monotonic_now(loop_)},
          .recycling = sources_->recycling(),
          .gate = sources_->gate(),
          .parking = sources_->parking(),
          .delivery = sources_->delivery(),
          .schedule = sources_->schedule(),
          .idle = sources_->idle(),
          .recent = stream_->recent()};
}

std::string Reporting::status_document() const { return status_json(take_snapshot()); }
}  // namespace moult
