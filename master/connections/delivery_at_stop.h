#pragma once
// The last thing that moult does before it exits: no worker is left, and it waits until their answers have arrived. A
// container's network goes with its first process, and with that what the kernel still had to send.
//
//   idle     -> waiting   wait(); unless nothing is to be waited for any more (forgo)
//   waiting  -> over      delivered; or what is left can be neither delivered nor aborted; or the maximum has passed;
//   or
//                         somebody has had enough
//
// The maximum is twice --linger-timeout: who takes nothing at all is aborted after one, and whoever still takes a
// little has as much again. With nothing on its way it is over in the same turn of the loop. Owned by Instance, on the
// loop's thread.
#include <uv.h>

#include <functional>
#include <memory>
#include <string>

#include "base/uv_handle.h"
#include "master/connections/delivery.h"
namespace moult {
class DeliveryAtStop {
 public:
  static constexpr int most_patiences = 2;
  // Before it is said that something is waited for: what is acknowledged in its time is not worth a line.
  static constexpr Duration quiet_for = std::chrono::seconds(1);

  DeliveryAtStop(uv_loop_t*, Delivery&, DeliveryObserver&);  // both outlive it
  DeliveryAtStop(const DeliveryAtStop&) = delete;
  DeliveryAtStop& operator=(const DeliveryAtStop&) = delete;

  void wait(std::function<void()> done);  // called once, from inside or later
  // An operator's next word: it stops waiting. Before that it means nothing.
  void enough();
  // A quick stop: it does not wait, or stops waiting.
  void forgo();

 private:
  void note();
  void leave(const std::string& cause);

  Delivery& delivery_;
  DeliveryObserver& observer_;
  bool forgone_ = false;
  std::function<void()> done_;  // while it waits
  std::unique_ptr<DeliveryWatch> watch_;
  UvHandle<uv_timer_t> note_, maximum_;
};
}  // namespace moult
