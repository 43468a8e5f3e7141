#pragma once
// Lines leave the master here: a bounded queue, and one thread that writes. Used by Log and EventLog.
//
// write() never waits for the output. An output that nobody reads, that is full or closed costs lines, never time: a
// line that finds the queue full is dropped, so is one that could not be written, and how many there were is said in
// the output as soon as writing works again. Lines that were accepted keep their order.
//
// Why not spdlog's asynchronous logger: its thread pool ends with a blocking push and an unconditional join, so a
// writer that waits in write(2) would hold back our exit for ever; its queue is bounded in lines and not in bytes; and
// what is left of it after that is a queue and a thread.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/result.h"
#include "master/report/output.h"
namespace moult {
inline constexpr std::size_t queued_lines_most = 4096;
inline constexpr std::size_t queued_bytes_most = 1 << 20;

struct LineWriterOptions {
  std::function<std::string(std::uint64_t dropped)> say_dropped;  // a line with its newline; on the writer's thread
  // On the writer's thread. Lines are lost, because it cannot write, or cannot make a deleted file anew; once a change.
  std::function<void(const std::string&)> trouble = {};
  // Likewise: told to reopen it could not, and goes on with what it has.
  std::function<void(const std::string&)> not_reopened = {};
  Duration flush_at_exit = std::chrono::seconds(1);  // for what is still queued; the rest is dropped
};

class LineWriter {
 public:
  // Fails only if there can be no thread.
  static Result<std::unique_ptr<LineWriter>> start(Output, LineWriterOptions);
  // Returns within flush_at_exit and a little; a thread that waits in write(2) is left behind and dies with the
  // process.
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  void write(std::string line);  // with its newline; from any thread
  void reopen();                 // before the next line that is written; where it cannot, it keeps what it has
  // The end is near: what is still queued then is dropped. For an owner of several, so that their ends do not add up;
  // nothing is written afterwards.
  void end_by(MonotonicTime);
  std::uint64_t dropped() const;

 private:
  struct Shared;
  LineWriter(std::shared_ptr<Shared> shared, std::thread thread)
      : shared_(std::move(shared)), thread_(std::move(thread)) {}
  static void run(const std::shared_ptr<Shared>&);

  std::shared_ptr<Shared> shared_;  // also the thread's, which may outlive us
  std::thread thread_;
};
}  // namespace moult
