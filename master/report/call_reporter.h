#pragma once
// Says how scheduled calls end: events for machines; log lines for people, of those that fail, once a change. Owned by
// Reporting, told by Caller on the loop's thread. Decides nothing.
#include <functional>
#include <map>
#include <string>

#include "base/clock.h"
#include "master/report/event.h"
#include "master/report/log.h"
#include "master/sleep/ended_call.h"
namespace moult {
struct CallReporterParts {
  Log& log;
  EventSink* events;                    // null: nobody listens
  std::function<Clocks()> clocks = {};  // for tests; none: the real ones
};

class CallReporter {
 public:
  explicit CallReporter(CallReporterParts);  // the parts outlive it
  void ended(const EndedCall&);

 private:
  CallReporterParts parts_;
  std::map<std::string, std::string> failing_;  // by name: how, of those whose last call failed
};
}  // namespace moult
