#pragma once
// --events FILE: one JSON line an event, appended. Owned by Reporting, called by EventStream on the loop's thread,
// which it never holds up. A full disk costs lines: how many is an `events_dropped` line as soon as there is room
// again, and the log says once that it began.
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "master/report/event.h"
#include "master/report/line_writer.h"
namespace moult {
struct EventLogOptions {
  std::string path;  // "-": stdout
  std::string instance;
  std::function<void(const std::string&)> trouble;  // one line for the log; any thread, until we are destroyed
};

class EventLog : public EventSink {
 public:
  // Fails when the file cannot be opened for appending.
  static Result<std::unique_ptr<EventLog>> open(const EventLogOptions&);

  void write(const Event&, WallTime at) override;
  void write_line(std::string line) { writer_->write(std::move(line)); }  // as event_line() makes it
  void reopen() { writer_->reopen(); }                                    // USR1: the file was renamed
  void end_by(MonotonicTime at) { writer_->end_by(at); }                  // line_writer.h
  std::uint64_t dropped() const { return writer_->dropped(); }

 private:
  EventLog(std::string instance, std::unique_ptr<LineWriter> writer)
      : instance_(std::move(instance)), writer_(std::move(writer)) {}
  const std::string instance_;
  std::unique_ptr<LineWriter> writer_;
};
}  // namespace moult
