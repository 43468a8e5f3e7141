#pragma once
// While nothing but answers on their way keeps an idle app awake, whoever takes nothing of one for --linger-timeout is
// cut off, as before any sleep: one client that is gone would else keep it awake for as long as its kernel answers.
// What cannot be cut off is told once, and the app stays awake. Owned by InstanceSleep, on the loop's thread.
#include <memory>

#include "master/connections/delivery.h"
namespace moult {
class DeliveryWhileIdle {
 public:
  DeliveryWhileIdle(Delivery&, DeliveryObserver&);  // both outlive it

  // At each sweep. `nothing_else`: something is undelivered, and without it the app could sleep.
  void look(bool nothing_else);
  void end() { watch_.reset(); }  // a sleep or a stop waits for the delivery itself

 private:
  Delivery& delivery_;
  DeliveryObserver& observer_;
  std::unique_ptr<DeliveryWatch> watch_;
};

// What is told when answers can be neither delivered nor aborted before a sleep.
FailedClosed failed_before_sleep(const DeliveryDescription&);
}  // namespace moult
