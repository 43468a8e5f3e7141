#pragma once
// What waits at the public doors when moult stops: clients that the kernel has connected and no worker has accepted.
// Closing the doors would reset them. So the master accepts them, and whoever serves to the end is offered each, as
// other callers are (ConnectionKeeper). Made by Instance; used once, before the listeners are closed.
//
// Only for workers that adopt: what is behind TLS, or a command's, is not ours to accept.
#include <uv.h>

#include <functional>
#include <vector>

#include "base/uv_handle.h"
#include "master/connections/connection_keeper.h"
namespace moult {
class Backlog {
 public:
  // Clients in all: two full queues of the default --backlog. Whoever still comes then comes too late.
  static constexpr std::size_t most = 4096;

  Backlog(uv_loop_t*, ConnectionKeeper&);
  Backlog(const Backlog&) = delete;
  Backlog& operator=(const Backlog&) = delete;

  // Accepts until nothing waits and each caller is some worker's: then `done` is called once, maybe from inside. At
  // once where nobody adopts, and when nobody does any more. The doors are non-blocking, and open until then.
  void hand_over(std::vector<int> doors, std::function<void()> done);

 private:
  void go_on();
  std::size_t accept_waiting();

  ConnectionKeeper& keeper_;
  std::vector<int> doors_;
  std::function<void()> done_;
  std::size_t accepted_ = 0;
  UvHandle<uv_timer_t> timer_;  // so that nothing is done inside the keeper's step
};
}  // namespace moult
