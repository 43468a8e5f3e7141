#pragma once
// One run of a command of the user's: by sh, with the event in its environment, as the user that workers run as. One
// that takes too long is killed. Owned by who asked for it, on the loop's thread; destroying it kills what still runs.
#include <uv.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "base/uv_handle.h"
#include "master/launch/child_settings.h"
#include "master/launch/pidfd.h"
namespace moult {
struct HookOptions {
  std::string flag;                    // "--on-alarm", for the log
  std::optional<std::string> command;  // none: nothing is ever run
  ChildSettings child;
  std::function<void(const std::string&)> trouble;   // one line for the log
  Duration runs_at_most = std::chrono::seconds(30);  // a choice: time for a slow mail server
};

class HookRun {
 public:
  using Ended = std::function<void(const Result<void>&)>;
  // There is a command. `ended` is called once, never from inside, and may destroy us: nothing, or one line that names
  // the flag. `event` is MOULT_EVENT, its first line.
  HookRun(uv_loop_t*, Orphans&, const HookOptions&, const std::string& event, Ended);  // the options outlive it
  HookRun(const HookRun&) = delete;
  HookRun& operator=(const HookRun&) = delete;

 private:
  void start(uv_loop_t*, Orphans&, const std::string& event);
  void fail(const std::string& why);
  void at_the_timer();
  void ended(const Exit&);
  void tell(Result<void>);

  const HookOptions& options_;
  Ended ended_;
  std::optional<std::string> could_not_start_;
  std::unique_ptr<ChildProcess> process_;
  UvHandle<uv_timer_t> timer_;
};
}  // namespace moult
