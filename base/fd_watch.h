#pragma once
// Calls back while a descriptor is readable (or writable, when that is wanted). Owned by whoever owns the descriptor,
// and destroyed before it is closed. May be destroyed from inside its callback. On the loop's thread.
#include <uv.h>

#include <functional>
#include <memory>
#include <utility>

#include "base/result.h"
#include "base/uv_handle.h"
namespace moult {
class FdWatch {
 public:
  // Bits of UV_READABLE and UV_WRITABLE. A descriptor in error (a peer that is gone) is reported as readable for as
  // long as it is watched: reading says what is the matter.
  using Callback = std::function<void(int events)>;
  // Makes the descriptor non-blocking, for all who share it.
  static Result<std::unique_ptr<FdWatch>> open(uv_loop_t* loop, int fd, Callback callback) {
    auto poll = std::make_unique<uv_poll_t>();
    if (const int error = uv_poll_init(loop, poll.get(), fd); error < 0)
      return errno_error("cannot watch a descriptor", -error);
    std::unique_ptr<FdWatch> watch(new FdWatch(UvHandle<uv_poll_t>(poll.release()), std::move(callback)));
    watch->want(UV_READABLE);
    return watch;
  }
  ~FdWatch() { poll_->data = nullptr; }
  FdWatch(const FdWatch&) = delete;
  FdWatch& operator=(const FdWatch&) = delete;

  // Zero: pause. It begins with UV_READABLE.
  void want(int events) {
    wanted_ = events;
    if (events == 0) uv_poll_stop(poll_.get());
    else uv_poll_start(poll_.get(), events, &FdWatch::ready);
  }

 private:
  FdWatch(UvHandle<uv_poll_t> poll, Callback callback) : poll_(std::move(poll)), callback_(std::move(callback)) {
    poll_->data = this;
  }
  static void ready(uv_poll_t* poll, int status, int events) {
    const Callback call = static_cast<FdWatch*>(poll->data)->callback_;  // a copy: the call may destroy its owner
    call(status < 0 ? UV_READABLE : events);
    // libuv stops watching after an error, though there may be more to read.
    auto* self = static_cast<FdWatch*>(poll->data);
    if (status < 0 && self && self->wanted_ != 0) self->want(self->wanted_);
  }

  UvHandle<uv_poll_t> poll_;
  Callback callback_;
  int wanted_ = 0;
};
}  // namespace moult
