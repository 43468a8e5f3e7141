#include "master/report/log.h"

#include <unistd.h>

#include <ctime>
namespace moult {
namespace {
Clocks real_clocks() { return {std::chrono::steady_clock::now(), std::chrono::system_clock::now()}; }

std::string local_time(WallTime at) {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::system_clock::duration>(at));
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char text[64];
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &parts));
}

std::string line_of(LogFormat format, LogLevel level, WallTime at, std::string_view message) {
  switch (format) {
    case LogFormat::text: return text_line(level, local_time(at), getpid(), message);
    case LogFormat::json: break;
  }
  return json_line(level, at, getpid(), message);
}

std::string lines(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " log line was" : " log lines were");
}
}  // namespace

Result<std::unique_ptr<Log>> Log::start(const LogOptions& asked) {
  LogOptions options = asked;
  if (!options.clocks) options.clocks = real_clocks;
  auto writer =
      LineWriter::start(Output::duplicate_of(options.fd),
                        {.say_dropped =
                             [format = options.format, clocks = options.clocks](std::uint64_t count) {
                               return line_of(format, LogLevel::warning, clocks().wall,
                                              lines(count) + " dropped: the log was not read, full or closed");
                             },
                         .flush_at_exit = options.flush_at_exit});
  if (!writer) return writer.error();
  return std::unique_ptr<Log>(new Log(options, std::move(*writer)));
}

Log::Log(const LogOptions& options, std::unique_ptr<LineWriter> writer)
    : options_(options), rate_{.filled_at = options.clocks().monotonic}, writer_(std::move(writer)) {}

// `suppressed`: how many are to be owned up to before this one.
bool Log::allowed(MonotonicTime now, std::uint64_t& suppressed) {
  const std::lock_guard lock(mutex_);
  if (rate_.allows_one(now)) {
    suppressed = std::exchange(suppressed_unsaid_, 0);
    return true;
  }
  ++suppressed_;
  ++suppressed_unsaid_;
  return false;
}

void Log::write(LogLevel level, std::string_view message) {
  if (level < options_.level) return;
  const Clocks now = options_.clocks();
  std::uint64_t suppressed = 0;
  if (!allowed(now.monotonic, suppressed)) return;
  if (suppressed > 0)
    writer_->write(
        line_of(options_.format, LogLevel::warning, now.wall, lines(suppressed) + " left out: too many at once"));
  writer_->write(line_of(options_.format, level, now.wall, message));
}

std::uint64_t Log::dropped() const {
  const std::lock_guard lock(mutex_);
  return suppressed_ + writer_->dropped();
}
}  // namespace moult
