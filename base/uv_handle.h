#pragma once
// Owner of one libuv handle. libuv closes asynchronously and still touches the handle's memory until its
// close callback: so the handle lives on the heap and the callback, not the owner, frees it.
// The loop must run once more after the last owner is gone, or uv_loop_close says EBUSY.
#include <uv.h>
#include <memory>
namespace moult {
template <class Handle>
struct CloseHandle {
  void operator()(Handle* handle) const {
    uv_close(reinterpret_cast<uv_handle_t*>(handle),
             [](uv_handle_t* closed) { delete reinterpret_cast<Handle*>(closed); });
  }
};
template <class Handle>
using UvHandle = std::unique_ptr<Handle, CloseHandle<Handle>>;

inline UvHandle<uv_timer_t> make_timer(uv_loop_t* loop, void* data) {
  auto* timer = new uv_timer_t;
  uv_timer_init(loop, timer);  // never fails
  timer->data = data;
  return UvHandle<uv_timer_t>(timer);
}
}  // namespace moult
