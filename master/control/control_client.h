#pragma once
// The other end of the control socket: blocking, with a deadline on everything. Runs in a process of its own (`moult
// status`, ...), never in the master.
#include <sys/types.h>

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "master/control/command.h"
#include "master/control/control_frame.h"
namespace moult {
// The master's loop is never blocked: it answers within milliseconds. These are for machines in deep trouble.
inline constexpr Duration control_connect_limit = std::chrono::seconds(2);
inline constexpr Duration control_answer_limit = std::chrono::seconds(10);

struct RefusedByMaster {
  std::string why;  // the master's own words
};
struct NoAnswer {
  std::string why;  // nobody there, or nobody who speaks: says where
  bool too_late = false;
};
using ControlAnswer = std::variant<nlohmann::json, RefusedByMaster, NoAnswer>;

class ControlClient {
 public:
  // Error::code tells a path where nobody is (ENOENT, ECONNREFUSED, ETIMEDOUT) from one that is not ours (EACCES,
  // EPERM: the other end is neither our user's nor root's).
  static Result<ControlClient> connect(const std::string& path, Duration limit = control_connect_limit);

  ControlAnswer ask(const Command&, Duration limit = control_answer_limit);

  // True: the master closed the connection, and its process is gone where we could watch it; false: not within `limit`.
  bool wait_for_end(Duration limit);

 private:
  ControlClient(UniqueFd socket, UniqueFd master, std::string path)
      : socket_(std::move(socket)), master_(std::move(master)), path_(std::move(path)) {}
  Result<nlohmann::json> next_frame(MonotonicTime end);

  UniqueFd socket_;
  UniqueFd master_;  // pidfd of the process that listens; empty: the kernel cannot say (another pid namespace)
  std::string path_;
  ControlFrames frames_{longest_answer_bytes};
};
}  // namespace moult
