#pragma once
// A command of the user's that is run when something happens (--on-alarm): by sh, with the event in its environment, as
// the user that workers run as. One run at a time; what happens meanwhile is kept, the latest only, and run after it.
// One that takes too long is killed. Made by Instance, on the loop's thread.
#include <uv.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
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

class Hook {
 public:
  Hook(uv_loop_t*, Orphans&, HookOptions);  // the orphans outlive it
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;

  void run(const std::string& event);  // MOULT_EVENT

 private:
  void start(const std::string& event);
  void ended(const Exit&);
  void take_too_long();

  uv_loop_t* loop_;
  Orphans& orphans_;
  HookOptions options_;
  std::unique_ptr<ChildProcess> running_;
  std::optional<std::string> next_;
  UvHandle<uv_timer_t> timer_;
};
}  // namespace moult
