#include "master/connections/sleeping_doors.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>
namespace moult {
namespace {
// Of one door in one turn of the loop, so that a crowd keeps nobody waiting who is in already.
constexpr int most_at_once = 64;

bool is_shortage(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }
}  // namespace

SleepingDoors::SleepingDoors(uv_loop_t* loop, ConnectionKeeper& keeper, Doors doors, Room room)
    : loop_(loop), keeper_(keeper), doors_(std::move(doors)), room_(std::move(room)), timer_(make_timer(loop, this)) {
  keeper_.on_changed([this] { settle(); });
}

SleepingDoors::~SleepingDoors() { keeper_.on_changed(nullptr); }

void SleepingDoors::watch(bool on) {
  if (on == watches_) return;
  watches_ = on;
  told_ = refused_ = false;
  outside_ = Outside::nobody;
  watched_.clear();
  uv_timer_stop(timer_.get());
  if (on) open_doors();
  keeper_.sleep(on);  // and settle()
}

// Who comes to a door that cannot be watched must not wait for ever: so it is as if somebody was there.
void SleepingDoors::open_doors() {
  watched_.clear();
  for (const int door : doors_()) {
    auto watch = FdWatch::open(loop_, door, [this, door](int) { come(door); });
    if (!watch) return leave(Outside::some);
    watched_.push_back(std::move(*watch));
  }
}

void SleepingDoors::refuse(MonotonicTime until) {
  told_ = false;
  keeper_.refuse(until);  // and settle()
}

void SleepingDoors::admit() { refuse(MonotonicTime::min()); }

// The workers of a wake accept as well: whoever they have is not here any more.
void SleepingDoors::come(int door) {
  if (!may_accept()) return leave(Outside::some_until_room);
  for (int i = 0; i < most_at_once && may_accept(); ++i) {
    UniqueFd client(::accept4(door, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (client) keeper_.came(std::move(client));
    else if (is_shortage(errno)) return leave(Outside::some);
    else if (errno != EINTR && errno != ECONNABORTED) return;
  }
}

bool SleepingDoors::may_accept() const { return keeper_.is_taken_by_workers() && keeper_.has_room_for(1) && room_(); }

// A door with somebody at it is readable all the time, so it is not looked at.
void SleepingDoors::leave(Outside who) {
  outside_ = who;
  for (const auto& each : watched_) each->want(0);
  settle();
}

void SleepingDoors::settle() {
  if (!watches_) return;
  const bool refuses = monotonic_now(loop_) < keeper_.refuses_until();
  const bool refusal_ended = std::exchange(refused_, refuses) && !refuses;
  const bool has_room = outside_ == Outside::some_until_room && may_accept();
  if (outside_ != Outside::nobody && (refusal_ended || has_room)) {
    outside_ = Outside::nobody;
    open_doors();
  }
  if (!somebody_waits()) told_ = false;
  if (!somebody_waits() || told_ || refuses) return;
  uv_timer_start(
      timer_.get(), [](uv_timer_t* timer) { static_cast<SleepingDoors*>(timer->data)->tell(); }, 0, 0);
}

void SleepingDoors::tell() {
  if (!watches_ || !somebody_waits() || monotonic_now(loop_) < keeper_.refuses_until()) return;
  told_ = true;
  if (on_caller_) on_caller_();
}
}  // namespace moult
