#pragma once
// The calls of a RedisConnection, each with its budget; no socket. Owned by it, on the loop's thread.
//
//   waiting -> written   the connection is ready
//   written -> (over)    its reply; or written -> waiting / failed: the connection was lost
//   written -> resting   the store put it off by name; resting -> waiting when it has rested
//   any     -> failed    its failure is known, and told in the loop's next turn: nobody is called from inside a call
//   any     -> (over)    the budget's end, or it was cancelled. A written one stays where it is: its reply is dropped
//                        in its order
// So whoever adds, loses or sheds calls is called back from timers only; `answered` alone calls `done` directly.
#include <uv.h>

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "base/backoff.h"
#include "lease/redis_connection.h"
#include "lease/redis_refusal.h"
namespace moult {
struct PendingCall;  // in redis_calls.cc

class RedisCalls {
 public:
  using Words = std::function<RedisWords(const StoreClock&)>;
  struct Events {
    std::function<std::string()> what_is_up;  // for a call whose budget ends: why there is no answer
    std::function<void()> somebody_waits;     // one has rested
  };
  RedisCalls(uv_loop_t*, std::uint64_t seed, Events);
  ~RedisCalls();  // drops them all
  RedisCalls(const RedisCalls&) = delete;
  RedisCalls& operator=(const RedisCalls&) = delete;

  std::unique_ptr<RedisCall> add(Words, Budget, IfLost,
                                 RedisConnection::Done);  // waiting; failed if there are too many

  bool any_waiting() const { return !waiting_.empty(); }
  std::size_t waiting() const { return waiting_.size() + aside_.size() + back_.size(); }
  std::size_t written() const { return written_.size(); }
  Budget longest_waiting() const;  // the latest end of those that wait
  // What the next one that waits is written as.
  RedisWords write_next(const StoreClock&);
  // One is over, but its reply has not come for longest_silence, nor any other's.
  bool store_is_silent(MonotonicTime now) const;

  // The reply to the oldest written one, of which there is one, and what it means.
  void answered(RedisReply, const RedisRefusal&);
  // Those that wait stand back until others have gone ahead.
  void stand_back();
  void stand_again();
  void lost(const std::string& why);                 // all written ones
  void shed(Duration wait, const std::string& why);  // those that wait and cannot wait so long
  void fail_all_waiting(const std::string& why);

 private:
  friend struct PendingCall;
  friend class RedisCallHandle;
  using Queue = std::list<std::shared_ptr<PendingCall>>;

  void timer_fired(PendingCall&);
  void cancel(PendingCall&);
  void move(PendingCall&, Queue& to, Queue::iterator before);
  void fail_soon(PendingCall&, std::string why);
  bool rest(PendingCall&);
  void remove(PendingCall&);
  void tell(PendingCall&, RedisAnswer);  // the last thing that is done: it may destroy us
  void suspect(const PendingCall&);

  uv_loop_t* loop_;
  Random random_;
  Events events_;
  Queue waiting_, written_, aside_, back_;
  std::optional<MonotonicTime> unanswered_since_;  // the oldest written one that is over
};
}  // namespace moult
