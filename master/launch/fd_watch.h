#pragma once
// Calls back while a descriptor is readable (or writable, when that is wanted). Owned by whoever owns the descriptor,
// and destroyed before it is closed. May be destroyed from inside its callback.
#include <functional>
#include <memory>

#include "base/result.h"
#include "base/uv_handle.h"
namespace moult {
class FdWatch {
 public:
  // Bits of UV_READABLE and UV_WRITABLE. A descriptor in error (a peer that is gone) is reported as readable for as
  // long as it is watched: reading says what is the matter.
  using Callback = std::function<void(int events)>;
  static Result<std::unique_ptr<FdWatch>> open(uv_loop_t*, int fd, Callback);
  ~FdWatch();
  FdWatch(const FdWatch&) = delete;
  FdWatch& operator=(const FdWatch&) = delete;

  void want(int events);  // zero: pause. It begins with UV_READABLE

 private:
  FdWatch(UvHandle<uv_poll_t>, Callback);
  UvHandle<uv_poll_t> poll_;
  Callback callback_;
  int wanted_ = 0;
};
}  // namespace moult
