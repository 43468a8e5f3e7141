#pragma once
// The sidecar's door (--sidecar-bind) while the app sleeps: who comes is told 503 at once, and wakes nobody. While it
// is awake the workers alone accept there. Made by Instance with the listener, driven by the Sleeper
// (instance_sleep.cc). On the loop's thread.
#include <uv.h>

#include <memory>

#include "base/fd_watch.h"
#include "base/uv_handle.h"
#include "master/connections/refusal.h"
namespace moult {
class SidecarDoor {
 public:
  static constexpr std::size_t most_let_go_gently = 64;  // a sidecar is one program or two

  SidecarDoor(uv_loop_t*, int listener);  // non-blocking, and it outlives close(); -1: there is no such door
  SidecarDoor(const SidecarDoor&) = delete;
  SidecarDoor& operator=(const SidecarDoor&) = delete;

  // Also those who wait there already. Again: no effect.
  void refuse(bool on);
  // Before the listener is closed, when no worker accepts any more: those who wait are refused, for the last time.
  void close();

 private:
  void watch();
  void pause();
  bool refuse_all();

  uv_loop_t* loop_;
  int listener_;
  bool refuses_ = false;
  Refusals refusals_;
  std::unique_ptr<FdWatch> watch_;
  UvHandle<uv_timer_t> timer_;  // after a lack of descriptors
};
}  // namespace moult
