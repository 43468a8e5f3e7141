#pragma once
// One stream of output (stdout or stderr of a worker, or of all of them) on its way through the master: read as soon as
// it comes, so that no worker ever waits for whoever reads moult's log; cut into lines; given to a sink that may refuse
// a line when it is full. Owned by a launcher (one for all workers) or a link (one a worker, with its prefix).
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd_watch.h"
#include "base/result.h"
#include "base/unique_fd.h"
namespace moult {
enum class OutputStream { standard_output, standard_error };
// One line without its newline, prefix included. Must not block. False: no room, the line is lost (and counted).
using OutputSink = std::function<bool(OutputStream, std::string_view line)>;

class OutputRelay {
 public:
  static constexpr std::size_t longest_line = 16 * 1024;  // a longer one is given in pieces

  // The relay, and the end to write to, for the child. A child that opens /dev/stdout (access logs do) must own it.
  static Result<std::pair<std::unique_ptr<OutputRelay>, UniqueFd>> open(uv_loop_t*, OutputStream, std::string prefix,
                                                                        OutputSink);
  ~OutputRelay();  // reads what still waits
  OutputRelay(const OutputRelay&) = delete;
  OutputRelay& operator=(const OutputRelay&) = delete;

  void set_prefix(std::string prefix) { prefix_ = std::move(prefix); }  // of the lines that are given from now on
  std::uint64_t dropped_lines() const { return dropped_lines_; }

 private:
  OutputRelay(UniqueFd, OutputStream, std::string prefix, OutputSink);
  void read(int most_reads);
  void take(std::string_view text);
  void give(std::string_view line);

  UniqueFd reading_;
  OutputStream stream_;
  std::string prefix_;
  OutputSink sink_;
  std::string unfinished_;
  bool in_pieces_ = false;  // part of the line that is being read was given already
  std::uint64_t dropped_lines_ = 0;
  std::unique_ptr<FdWatch> watch_;
};
}  // namespace moult
