#pragma once
// What becomes of answers that are on their way when the app is to sleep or to stop, for those who tell of it: events,
// log. Called by Delivery and DeliveryAtStop on the loop's thread.
#include <cstdint>
#include <string>

#include "base/clock.h"
namespace moult {
enum class DeliveryWish { before_sleep, before_stop };
inline const char* name(DeliveryWish why) { return why == DeliveryWish::before_sleep ? "sleep" : "stop"; }

// Connections that were reset: nothing of what was left for them was acknowledged for --linger-timeout, or they were
// one too many. Told once for those of one turn of the loop.
struct LingersAborted {
  DeliveryWish why;
  std::uint64_t connections;
  Duration patience;
};
// Connections whose answers are neither delivered nor aborted. Before a sleep: it does not take place. At a stop: moult
// leaves without knowing more of them.
struct FailedClosed {
  DeliveryWish why;
  std::size_t connections;  // zero: it cannot even be seen how many
  std::string cause;        // "not_permitted", "look_failed", "maximum", "operator"
  std::string trouble;      // of the last look; empty: it succeeded
};

// A stop takes longer, because of answers that are on their way: told once, if at all.
struct StopWaits {
  std::size_t connections;
  Duration at_most;
};

class DeliveryObserver {
 public:
  virtual ~DeliveryObserver() = default;
  virtual void lingers_aborted(const LingersAborted&) {}
  virtual void failed_closed(const FailedClosed&) {}
  virtual void stop_waits(const StopWaits&) {}
};
}  // namespace moult
