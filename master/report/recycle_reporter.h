#pragma once
// Says what the recycler does: log lines for people, events for machines. Owned by Reporting, called by MemoryWatch on
// the loop's thread. Decides nothing.
#include <functional>
#include <string>

#include "base/clock.h"
#include "master/recycling/recycle_record.h"
#include "master/report/event_log.h"
#include "master/report/log.h"
namespace moult {
struct RecycleReporterParts {
  Log& log;
  EventSink* events;  // null: nobody listens
  std::string instance;
  bool own_fleet = true;  // --fleet local
  // Each alarm that begins or ends, as its event line: for --on-alarm.
  std::function<void(const std::string& event_line)> on_alarm = {};
  std::function<Clocks()> clocks = {};  // for tests; none: the real ones
};

class RecycleReporter : public RecycleObserver {
 public:
  explicit RecycleReporter(RecycleReporterParts);  // the parts outlive it
  void on_alarm(std::function<void(const std::string&)> call) { parts_.on_alarm = std::move(call); }

  void recycle_begun(const WorkerName&, const Recycle&, const Granted&) override;
  void recycled(const RecycleRecord&) override;
  void hold_started(const WorkerName&, const HeldBack&, const Evidence&) override;
  void hold_ended(const WorkerName&, const HeldFor&) override;
  void alarm_changed(AlarmChange, const LifetimeFigures&) override;
  void pressure_futile(Duration for_how_long) override;
  void recycling_note(LogLevel level, const std::string& line) override { parts_.log.write(level, line); }

 private:
  void tell(const Event&);
  RecycleReporterParts parts_;
};
}  // namespace moult
