#pragma once
// The master's own log, on stderr: what people read. Made by Instance before anything else that speaks, outlives all of
// it. Any thread may log; nobody ever waits (line_writer.h), and no more is written than rate_bound.h allows.
// To say a lasting cause once per change and not once per try is the caller's.
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "master/report/line_writer.h"
#include "master/report/log_line.h"
#include "master/report/rate_bound.h"
namespace moult {
struct LogOptions {
  LogLevel level = LogLevel::info;  // and above
  LogFormat format = LogFormat::text;
  int fd = 2;                                        // not closed
  Duration flush_at_exit = std::chrono::seconds(1);  // how long an unread pipe may hold back our exit
  std::function<Clocks()> clocks = {};               // for tests; none: the real ones
};

class Log {
 public:
  // Fails only if there can be no writer thread.
  static Result<std::unique_ptr<Log>> start(const LogOptions&);

  void write(LogLevel, std::string_view message);
  void debug(std::string_view message) { write(LogLevel::debug, message); }
  void info(std::string_view message) { write(LogLevel::info, message); }
  void warning(std::string_view message) { write(LogLevel::warning, message); }
  void error(std::string_view message) { write(LogLevel::error, message); }
  void critical(std::string_view message) { write(LogLevel::critical, message); }

  void end_by(MonotonicTime at) { writer_->end_by(at); }  // line_writer.h
  std::uint64_t dropped() const;                          // lines, since the start, for whatever reason

 private:
  Log(const LogOptions& options, std::unique_ptr<LineWriter> writer);
  bool allowed(MonotonicTime now, std::uint64_t& suppressed);

  const LogOptions options_;
  mutable std::mutex mutex_;
  RateBound rate_;
  std::uint64_t suppressed_ = 0, suppressed_unsaid_ = 0;
  std::unique_ptr<LineWriter> writer_;
};
}  // namespace moult
