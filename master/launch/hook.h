#pragma once
// A command of the user's that is run when something happens (--on-alarm, --on-wake), and for whose end nobody waits.
// One run at a time; what happens meanwhile is kept, the latest only, and run after it. Made by Instance, on the loop's
// thread.
#include "master/launch/hook_run.h"
namespace moult {
class Hook {
 public:
  Hook(uv_loop_t*, Orphans&, HookOptions);  // the orphans outlive it
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;

  void run(const std::string& event);  // MOULT_EVENT

 private:
  void start(const std::string& event);

  uv_loop_t* loop_;
  Orphans& orphans_;
  HookOptions options_;
  std::unique_ptr<HookRun> running_;
  std::optional<std::string> next_;
};
}  // namespace moult
