#pragma once
// Where every event goes: to the file of --events, if there is one, and into a memory of the last ones, which `moult
// events` reads through the control socket and the status shows the recycles of. Owned by Reporting, on the loop's
// thread, which it never holds up.
//
// Each event has a number, from 1 on as this process lives. Who follows asks for those after the last number that he
// has seen; where he was too slow he is told how many he has missed.
#include <uv.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/uv_handle.h"
#include "master/report/event.h"
#include "master/report/event_log.h"
#include "master/report/recent_recycles.h"
namespace moult {
// Choices. The longest line is some 9 kB (a traceback), most are 200 to 900 bytes.
inline constexpr std::size_t kept_events_most = 1000;
inline constexpr std::size_t kept_event_bytes_most = 512 << 10;
// One answer is below the control socket's longest_answer_bytes by far; who follows asks again.
inline constexpr std::size_t told_event_bytes_most = 256 << 10;
inline constexpr std::size_t most_event_waiters = 64;  // as many as the control socket has clients
inline constexpr Duration longest_event_wait = std::chrono::seconds(5);
// Events that come together are told together.
inline constexpr Duration events_settle = std::chrono::milliseconds(20);

struct EventsAsked {
  std::uint64_t after = 0;  // zero: all that are kept
  bool wait = false;        // if there is none, for the next one: at most longest_event_wait
};

class EventStream : public EventSink {
 public:
  // `log`: null where there is no --events. It outlives us.
  EventStream(uv_loop_t*, std::string instance, EventLog* log);

  void write(const Event&, WallTime at) override;

  // {"events":[...],"last":N,"missed":K}: `last` is the number of the last one that is told, or of the last there is.
  // `told` is called once: from inside, or later; never after our end.
  void ask(const EventsAsked&, std::function<void(Result<std::string>)> told);

  std::shared_ptr<const RecentRecycles> recent() const { return recent_; }

 private:
  struct Waiter {
    std::uint64_t after;
    MonotonicTime until;
    std::function<void(Result<std::string>)> told;
  };
  void keep(std::string line);
  void remember(const std::string& line);
  std::string document(std::uint64_t after) const;
  void tell_waiters();
  void arm();

  uv_loop_t* loop_;
  const std::string instance_;
  EventLog* log_;
  std::deque<std::string> kept_;  // each without its newline; the last one has the number last_
  std::size_t kept_bytes_ = 0;
  std::uint64_t last_ = 0;
  std::shared_ptr<const RecentRecycles> recent_;
  std::deque<Waiter> waiters_;  // by `until`
  bool news_ = false;           // that waiters have not been told yet
  UvHandle<uv_timer_t> timer_;
};
}  // namespace moult
