#pragma once
// Looks at the vital signs of all serving workers and tells the supervisor which are hung. Made by Instance, on the
// loop's thread. One timer however many workers there are; none if there is nothing to watch for.
#include <uv.h>

#include "base/uv_handle.h"
#include "master/pool/health.h"
#include "master/pool/supervisor.h"
namespace moult {
class HealthWatch {
 public:
  HealthWatch(uv_loop_t*, const HealthPolicy&, Supervisor&);  // both outlive it
  HealthWatch(const HealthWatch&) = delete;
  HealthWatch& operator=(const HealthWatch&) = delete;

 private:
  void look();
  uv_loop_t* loop_;
  HealthPolicy policy_;
  Supervisor& supervisor_;
  MonotonicTime last_look_;
  UvHandle<uv_timer_t> timer_;
};
}  // namespace moult
