#include "master/launch/fd_watch.h"

#include <utility>
namespace moult {
Result<std::unique_ptr<FdWatch>> FdWatch::open(uv_loop_t* loop, int fd, Callback callback) {
  auto poll = std::make_unique<uv_poll_t>();
  if (const int error = uv_poll_init(loop, poll.get(), fd); error < 0)
    return errno_error("cannot watch a descriptor", -error);
  std::unique_ptr<FdWatch> watch(new FdWatch(UvHandle<uv_poll_t>(poll.release()), std::move(callback)));
  watch->want(UV_READABLE);
  return watch;
}

FdWatch::FdWatch(UvHandle<uv_poll_t> poll, Callback callback) : poll_(std::move(poll)), callback_(std::move(callback)) {
  poll_->data = this;
}

FdWatch::~FdWatch() { poll_->data = nullptr; }

void FdWatch::want(int events) {
  wanted_ = events;
  if (events == 0) {
    uv_poll_stop(poll_.get());
    return;
  }
  uv_poll_start(poll_.get(), events, [](uv_poll_t* poll, int status, int ready) {
    const Callback call = static_cast<FdWatch*>(poll->data)->callback_;  // a copy: the call may destroy its owner
    call(status < 0 ? UV_READABLE : ready);
    // libuv stops watching after an error, though there may be more to read.
    auto* self = static_cast<FdWatch*>(poll->data);
    if (status < 0 && self && self->wanted_ != 0) self->want(self->wanted_);
  });
}
}  // namespace moult
