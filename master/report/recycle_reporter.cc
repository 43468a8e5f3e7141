#include "master/report/recycle_reporter.h"

#include <cstdio>
#include <utility>

#include "master/report/seconds.h"
namespace moult {
namespace {
Clocks real_clocks() { return {std::chrono::steady_clock::now(), std::chrono::system_clock::now()}; }

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, value >= 1000 ? "%.0f" : "%.3g", value);
  return text;
}

std::string megabytes(std::uint64_t bytes) { return number(static_cast<double>(bytes) / 1e6) + " MB"; }

std::string called(const WorkerName& worker) {
  const std::string who = worker.slot ? "worker " + std::to_string(*worker.slot) : "a spare worker";
  return who + " (pid " + std::to_string(worker.pid) + ")";
}

// "limit: 512 MB of 500 MB", "max_requests: 1000 requests".
std::string because(const Recycle& why) {
  const Evidence& e = why.evidence;
  const std::string text = std::string(name(why.cause)) + ": ";
  switch (why.cause) {
    case Cause::limit: return text + megabytes(e.rss_bytes) + " of " + megabytes(e.limit_bytes);
    case Cause::hard_limit: return text + megabytes(e.rss_bytes) + " of " + megabytes(e.hard_limit_bytes);
    case Cause::pressure:
      return text + megabytes(e.headroom_bytes) + " left, it frees " + megabytes(e.frees_bytes) + ", needed are " +
             megabytes(e.needs_bytes);
    case Cause::max_requests: return text + std::to_string(e.requests) + " requests";
    case Cause::max_lifetime: return text + number(seconds(e.lifetime)) + " s";
    case Cause::operator_request: break;
  }
  return text + "asked for";
}
}  // namespace

RecycleReporter::RecycleReporter(RecycleReporterParts parts) : parts_(std::move(parts)) {
  if (!parts_.clocks) parts_.clocks = real_clocks;
}

void RecycleReporter::tell(const Event& event) {
  if (parts_.events) parts_.events->write(event, parts_.clocks().wall);
}

void RecycleReporter::recycle_begun(const WorkerName& worker, const Recycle& why, const Granted& granted) {
  parts_.log.info(called(worker) + " is replaced: " + because(why));
  if (granted.gated) return;
  parts_.log.warning(called(worker) + " is replaced without a token: it is urgent, and owed");
  tell(GateUngated{worker, why});
}

void RecycleReporter::recycled(const RecycleRecord& record) {
  parts_.log.info(called(record.worker) + " was recycled (" + name(record.why.cause) + ") after " +
                  std::to_string(record.requests) + " requests in " + number(seconds(record.lifetime)) +
                  " s; it drained for " + number(seconds(record.drained_for)) + " s: " + name(record.drain));
  tell(WorkerRecycled{record, parts_.own_fleet});
}

void RecycleReporter::hold_started(const WorkerName& worker, const HeldBack& held, const Evidence& evidence) {
  const Clocks now = parts_.clocks();
  std::optional<WallTime> until;
  if (held.until != never) until = now.wall + (held.until - now.monotonic);
  parts_.log.debug(called(worker) + " is to go and waits: " + name(held.why));
  tell(HoldStarted{worker, held.why, until, evidence});
}

void RecycleReporter::hold_ended(const WorkerName& worker, const HeldFor& held) { tell(HoldEnded{worker, held}); }

void RecycleReporter::alarm_changed(AlarmChange change, const LifetimeFigures& figures) {
  const bool fires = change == AlarmChange::fired;
  const Event event = fires ? Event(AlarmFiring{figures}) : Event(AlarmCleared{figures});
  const std::string what = "of the last " + std::to_string(figures.samples) +
                           " workers that went because of memory a tenth lived for " + std::to_string(figures.p10) +
                           " requests or fewer";
  if (fires)
    parts_.log.warning("workers live too short: " + what +
                       ". Their limit is too near to what they weigh, or "
                       "the app leaks more than before");
  else parts_.log.info("workers live long enough again: " + what);
  tell(event);
  if (parts_.on_alarm) parts_.on_alarm(event_line(event, parts_.instance, parts_.clocks().wall));
}

void RecycleReporter::pressure_futile(Duration for_how_long) {
  parts_.log.warning(
      "replacing workers under memory pressure frees nothing: something else takes the memory. No more "
      "of it for " +
      number(seconds(for_how_long) / 60) + " min");
  tell(PressureFutile{seconds(for_how_long)});
}
}  // namespace moult
