#include "master/report/call_reporter.h"

#include <utility>

#include "master/report/timestamp.h"
namespace moult {
namespace {
// Empty: it is as it should be.
std::string trouble(const EndedCall& call) {
  const std::string why = call.why.empty() ? "" : ": " + call.why;
  switch (call.outcome) {
    case CallOutcome::answered:
      return call.status.value_or(0) < least_error_status ? "" : "was answered " + std::to_string(*call.status);
    case CallOutcome::timed_out: return "was sent, and not answered within its timeout";
    case CallOutcome::cut_off: return "was sent, and cut off before it was answered" + why;
    case CallOutcome::not_served: return "was not made: nobody served within its timeout" + why;
    case CallOutcome::store_unreachable: return "was not made here: it could not be claimed within its timeout" + why;
    case CallOutcome::lost:
      return "was claimed by an instance that ended before it said what became of it (" + call.holder + ")";
    case CallOutcome::stopped: return "was not made: moult is stopping";
    case CallOutcome::claimed_elsewhere: break;
  }
  return "";
}

Clocks real_clocks() { return {std::chrono::steady_clock::now(), std::chrono::system_clock::now()}; }
}  // namespace

CallReporter::CallReporter(CallReporterParts parts) : parts_(std::move(parts)) {
  if (!parts_.clocks) parts_.clocks = real_clocks;
}

void CallReporter::ended(const EndedCall& call) {
  if (parts_.events) parts_.events->write(ScheduledCallEvent{call}, parts_.clocks().wall);
  if (call.outcome == CallOutcome::claimed_elsewhere) return;
  const std::string said = trouble(call);
  const auto before = failing_.find(call.name);
  const bool failed_before = before != failing_.end();
  if (said.empty()) {
    if (failed_before) parts_.log.info("the scheduled call '" + call.name + "' is answered again");
    failing_.erase(call.name);
  } else if (!failed_before || before->second != said) {
    failing_.insert_or_assign(call.name, said);
    parts_.log.warning("the scheduled call '" + call.name + "' (due " + rfc3339(call.due) + ") " + said);
  }
}
}  // namespace moult
