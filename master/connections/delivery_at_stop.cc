#include "master/connections/delivery_at_stop.h"

#include <utility>
namespace moult {
namespace {
std::uint64_t milliseconds(Duration time) {
  return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::milliseconds>(time).count());
}
}  // namespace

DeliveryAtStop::DeliveryAtStop(uv_loop_t* loop, Delivery& delivery, DeliveryObserver& observer)
    : delivery_(delivery), observer_(observer), note_(make_timer(loop, this)), maximum_(make_timer(loop, this)) {}

void DeliveryAtStop::wait(std::function<void()> done) {
  if (forgone_) return done();
  done_ = std::move(done);
  watch_ = delivery_.watch(DeliveryWish::before_stop, [this](DeliveryVerdict verdict) {
    if (verdict == DeliveryVerdict::delivered) return leave("");
    leave(delivery_.describe().fail_closed > 0 ? "not_permitted" : "look_failed");
  });
  uv_timer_start(
      note_.get(), [](uv_timer_t* timer) { static_cast<DeliveryAtStop*>(timer->data)->note(); },
      milliseconds(quiet_for), 0);
  uv_timer_start(
      maximum_.get(), [](uv_timer_t* timer) { static_cast<DeliveryAtStop*>(timer->data)->leave("maximum"); },
      milliseconds(most_patiences * delivery_.patience()), 0);
}

void DeliveryAtStop::enough() {
  if (done_) leave("operator");
}

void DeliveryAtStop::forgo() {
  forgone_ = true;
  enough();
}

void DeliveryAtStop::note() {
  const DeliveryDescription d = delivery_.describe();
  observer_.stop_waits({d.watched + d.unwatched, most_patiences * delivery_.patience()});
}

void DeliveryAtStop::leave(const std::string& cause) {
  uv_timer_stop(note_.get());
  uv_timer_stop(maximum_.get());
  const DeliveryDescription d = delivery_.describe();
  const std::size_t left = d.watched + d.unwatched + d.fail_closed;
  watch_.reset();
  if (!cause.empty() && (left > 0 || !d.trouble.empty()))
    observer_.failed_closed({DeliveryWish::before_stop, left, cause, d.trouble});
  std::exchange(done_, nullptr)();
}
}  // namespace moult
