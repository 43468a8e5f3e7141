#include "master/report/event_reporter.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "master/report/seconds.h"
namespace moult {
namespace {
WorkerSubject subject(const Worker& worker, pid_t pid) { return {worker.slot, pid, worker.generation}; }

std::string called(const Worker& worker, pid_t pid) {
  const std::string who = worker.slot ? "worker " + std::to_string(*worker.slot) : "a spare worker";
  if (pid <= 0) return who;
  return who + " (pid " + std::to_string(pid) + ")";
}

std::string called(Generation generation) { return "generation " + std::to_string(generation.value); }

std::string how(const Exit& exit, std::optional<bool> oom_killed) {
  std::string text = describe(exit);
  if (oom_killed.value_or(false)) text += " (out of memory)";
  if (!exit.cause.empty()) text += (exit.cause.find('\n') == std::string::npos ? ": " : "\n") + exit.cause;
  return text;
}

std::string times(std::uint64_t count) { return std::to_string(count) + (count == 1 ? " more time" : " more times"); }

bool ended_well(const Exit& exit) { return exit.status == 0; }

Clocks real_clocks() { return {std::chrono::steady_clock::now(), std::chrono::system_clock::now()}; }
}  // namespace

EventReporter::EventReporter(EventReporterParts parts) : parts_(std::move(parts)) {
  if (!parts_.clocks) parts_.clocks = real_clocks;
  started_at_ = now();
}

void EventReporter::tell(const Event& event) {
  if (parts_.events) parts_.events->write(event, parts_.clocks().wall);
}

void EventReporter::tell_reload_end() {
  const auto end = reload_.take_end();
  if (!end) return;
  parts_.log.info("reload to " + called(end->generation) + ": " + end->outcome);
  tell(ReloadFinished{end->generation, end->outcome, end->error});
}

std::uint64_t EventReporter::log_cause(RepeatedCause& known, LogLevel level, const std::string& what,
                                       const std::string& cause) {
  const CauseNews news = heard(known, cause, now());
  if (news.is_new) {
    if (news.more_times > 0) parts_.log.write(level, "the cause before that came " + times(news.more_times));
    parts_.log.write(level, what + ": " + cause);
  } else if (news.more_times > 0) {
    parts_.log.write(level, what + ": same cause " + times(news.more_times));
  }
  return news.same_before;
}

void EventReporter::end_cause(RepeatedCause& known, const std::string& which) {
  if (const std::uint64_t unsaid = ended(known)) parts_.log.info(which + ": same cause " + times(unsaid));
}

void EventReporter::master_started() {
  parts_.log.info("moult " + parts_.version + " starts");
  tell(MasterStarted{parts_.version, getpid()});
}

void EventReporter::worker_serving(const Worker& worker, pid_t pid) {
  parts_.oom_kills.look();
  ready_at_[worker.id] = now();
  if (worker.generation >= failing_) end_cause(boot_cause_, "boots failed before this one");
  parts_.log.info(called(worker, pid) + " serves");
  tell(WorkerReadyEvent{subject(worker, pid)});
  reload_.serving(worker.id, worker.generation);
  tell_reload_end();
}

void EventReporter::worker_retiring(const Worker& worker, pid_t pid) {
  parts_.log.info(called(worker, pid) + " retires");
  reload_.no_longer_serving(worker.id);
  tell_reload_end();
}

void EventReporter::boot_failed(const Worker& worker, const Exit& exit) {
  const auto oom_killed = parts_.oom_kills.killed(worker.state, exit);
  failing_ = std::max(failing_, worker.generation);
  const std::uint64_t same_before =
      log_cause(boot_cause_, LogLevel::error, called(worker, exit.pid) + " could not boot", how(exit, oom_killed));
  tell(BootFailed{subject(worker, exit.pid), exit, oom_killed, same_before});
}

void EventReporter::boot_abandoned(const Worker& worker, const Exit& exit) {
  parts_.log.info(called(worker, exit.pid) + " is not needed any more and did not get ready");
}

void EventReporter::worker_gone(const Worker& worker, const Exit& exit) {
  const auto oom_killed = parts_.oom_kills.killed(worker.state, exit);
  const std::string who = called(worker, exit.pid);
  switch (worker.state) {
    case WorkerState::booting:
    case WorkerState::spare:
    case WorkerState::serving: log_cause(crash_cause_, LogLevel::error, who + " is gone", how(exit, oom_killed)); break;
    case WorkerState::retiring:
    case WorkerState::terminating:
      if (ended_well(exit)) parts_.log.info(who + " has ended");
      else parts_.log.warning(who + " has ended: " + how(exit, oom_killed));
      break;
    case WorkerState::aborting:
    case WorkerState::killed: parts_.log.warning(who + " had to be killed: " + describe(exit)); break;
  }
  std::optional<double> uptime;
  if (const auto ready = ready_at_.extract(worker.id)) uptime = seconds(now() - ready.mapped());
  tell(WorkerExited{subject(worker, exit.pid), worker.state, exit, oom_killed, uptime});
  reload_.no_longer_serving(worker.id);
  tell_reload_end();
}

void EventReporter::worker_hung(const Worker& worker, pid_t pid, const std::string& why) {
  parts_.log.error(called(worker, pid) + " hangs and is stopped: " + why);
  reload_.no_longer_serving(worker.id);
  tell_reload_end();
}

void EventReporter::worker_refused(const Worker& worker, pid_t pid, const std::string& what) {
  parts_.log.error(called(worker, pid) + " breaks the contract and is replaced: " + what);
}

void EventReporter::load_started(Generation generation) {
  const bool is_reload = reload_.load_started(generation);
  tell_reload_end();
  parts_.log.info(called(generation) + ": loading the app");
  if (is_reload) tell(ReloadStarted{generation});
}

void EventReporter::generation_proven(Generation generation) {
  proven_ = generation;
  end_cause(load_cause_, "loads failed before this one");
  parts_.log.info(called(generation) + " serves");
  reload_.proven(generation);
  tell_reload_end();
}

void EventReporter::reloaded_asleep(Generation generation) {
  reload_.loaded_asleep(generation);
  tell_reload_end();
}

void EventReporter::generation_rejected(Generation generation, const std::string& cause) {
  const std::string meanwhile = proven_ ? "; " + called(proven_) + " serves on" : "";
  log_cause(load_cause_, LogLevel::error, called(generation) + " does not come up" + meanwhile, cause);
  reload_.rejected(generation, cause);
  tell_reload_end();
}

void EventReporter::fork_server_gone(Generation generation, const Exit& exit) {
  log_cause(crash_cause_, LogLevel::error, "the fork server of " + called(generation) + " is gone",
            how(exit, std::nullopt));
  tell(ForkServerGone{generation, exit});
  reload_.rejected(generation, "its fork server " + describe(exit));
  tell_reload_end();
}

void EventReporter::stop_finished(int) {
  reload_.stopped();
  tell_reload_end();
  end_cause(boot_cause_, "failed boots");
  end_cause(crash_cause_, "crashes");
  end_cause(load_cause_, "failed loads");
}

void EventReporter::master_stopped(int exit_code) {
  parts_.log.info("stopped, exit status " + std::to_string(exit_code));
  tell(MasterStopped{exit_code, seconds(now() - started_at_)});
}
}  // namespace moult
