#include "master/connections/sidecar_door.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>
namespace moult {
namespace {
constexpr int most_at_once = 64;               // in one turn of the loop
constexpr std::uint64_t pause_in_lack = 1000;  // ms; until a descriptor may be free again
}  // namespace

SidecarDoor::SidecarDoor(uv_loop_t* loop, int listener)
    : loop_(loop), listener_(listener), refusals_(loop, most_let_go_gently), timer_(make_timer(loop, this)) {}

void SidecarDoor::refuse(bool on) {
  if (listener_ < 0 || std::exchange(refuses_, on) == on) return;
  watch_.reset();
  uv_timer_stop(timer_.get());
  if (on) watch();
}

void SidecarDoor::close() {
  refuse(false);
  if (listener_ >= 0) refuse_all();
  listener_ = -1;
}

void SidecarDoor::watch() {
  auto watch = FdWatch::open(loop_, listener_, [this](int) {
    if (!refuse_all()) pause();
  });
  if (!watch) return pause();
  watch_ = std::move(*watch);
}

// A door that is readable and cannot be accepted from would keep the loop busy.
void SidecarDoor::pause() {
  watch_.reset();
  uv_timer_start(
      timer_.get(), [](uv_timer_t* timer) { static_cast<SidecarDoor*>(timer->data)->watch(); }, pause_in_lack, 0);
}

// False: there are no descriptors.
bool SidecarDoor::refuse_all() {
  for (int i = 0; i < most_at_once; ++i) {
    UniqueFd client(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (client) refusals_.refuse(std::move(client));
    else if (errno == EAGAIN) return true;
    else if (errno != EINTR && errno != ECONNABORTED) return false;
  }
  return true;
}
}  // namespace moult
