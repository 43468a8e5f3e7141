#include "master/report/event_log.h"

#include <unistd.h>
namespace moult {
namespace {
Result<Output> output_named(const std::string& path) {
  return path == "-" ? Output::duplicate_of(STDOUT_FILENO) : Output::file(path);
}
}  // namespace

Result<std::unique_ptr<EventLog>> EventLog::open(const EventLogOptions& options) {
  auto file = output_named(options.path);
  if (!file) return file.error();
  auto writer = LineWriter::start(
      std::move(*file), {.say_dropped =
                             [instance = options.instance](std::uint64_t count) {
                               return event_line(EventsDropped{count}, instance, std::chrono::system_clock::now());
                             },
                         .trouble =
                             [trouble = options.trouble](const std::string& what) {
                               trouble("events: " + what + "; events are lost until that is mended");
                             },
                         .not_reopened =
                             [trouble = options.trouble](const std::string& what) {
                               trouble("events: " + what +
                                       "; they go on into the file that was open before: mend that, and send SIGUSR1 "
                                       "again");
                             }});
  if (!writer) return writer.error();
  return std::unique_ptr<EventLog>(new EventLog(options.instance, std::move(*writer)));
}

void EventLog::write(const Event& event, WallTime at) { writer_->write(event_line(event, instance_, at)); }
}  // namespace moult
