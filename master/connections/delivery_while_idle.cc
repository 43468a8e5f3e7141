#include "master/connections/delivery_while_idle.h"
namespace moult {
DeliveryWhileIdle::DeliveryWhileIdle(Delivery& delivery, DeliveryObserver& observer)
    : delivery_(delivery), observer_(observer) {}

// After its verdict the watch is kept while the same goes on, so that nothing is told twice.
void DeliveryWhileIdle::look(bool nothing_else) {
  if (!nothing_else) return end();
  if (watch_) return;
  watch_ = delivery_.watch(DeliveryWish::before_sleep, [this](DeliveryVerdict verdict) {
    if (verdict == DeliveryVerdict::fail_closed) observer_.failed_closed(failed_before_sleep(delivery_.describe()));
  });
}

FailedClosed failed_before_sleep(const DeliveryDescription& left) {
  const char* cause = left.trouble.empty() ? "not_permitted" : "look_failed";
  return {DeliveryWish::before_sleep, left.watched + left.unwatched + left.fail_closed, cause, left.trouble};
}
}  // namespace moult
