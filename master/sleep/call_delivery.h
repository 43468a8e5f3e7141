#pragma once
// One request to the app through the internal door, by libcurl on the loop, under one Budget. Owned by Caller;
// destroying it cancels, also from inside `ended`. On the loop's thread.
//
//   waiting -> sent     somebody serves: a connection is made, and the request goes over it
//   sent    -> waiting  the connection was refused, so that nobody has the request: tried again connect_again_after
//   sent    -> (over)   answered; or the connection ended; or the budget did. The request may have been received, so it
//                       is never sent again
//   waiting -> (over)   the budget ended: nobody has the request
// A connection is made only while somebody serves: else it would lie in the door's queue, and be found there after it
// was given up. (One whose worker ends in that very moment does: the next worker takes it.)
#include <uv.h>

#include <functional>
#include <memory>
#include <string>

#include "base/budget.h"
#include "master/sleep/ended_call.h"
namespace moult {
// Choices. Nobody hears of a worker that does not take connections for a moment.
inline constexpr Duration connect_again_after = std::chrono::milliseconds(100);
inline constexpr std::size_t most_answer_bytes = 16 << 20;  // nothing of it is kept; one that is longer is hung up on

struct CallRequest {
  std::string door;  // the unix socket
  std::string method, path, name, at;
};
struct DeliveryEnd {
  CallOutcome outcome;  // answered, timed_out, cut_off or not_served
  std::optional<int> status;
  std::string why;  // as EndedCall's
};

class CallDelivery {
 public:
  using Ended = std::function<void(const DeliveryEnd&)>;
  // `ended` is called once, by the budget's end, never from inside.
  CallDelivery(uv_loop_t*, CallRequest, Budget, std::function<bool()> somebody_serves, Ended);
  ~CallDelivery();
  CallDelivery(const CallDelivery&) = delete;
  CallDelivery& operator=(const CallDelivery&) = delete;

  bool is_sent() const;  // somebody may have the request
  void look_again();     // somebody serves now; no effect once it is sent

 private:
  class Transfer;
  std::unique_ptr<Transfer> transfer_;
};
}  // namespace moult
