#pragma once
// The one connection of this process to its store, and the calls over it, each under its own Budget. Made by Instance,
// used by RedisGate. On the loop's thread. Connects when somebody first calls, and is kept.
//
//   idle        nobody waits, nothing is open
//   connecting  name, addresses, TLS, then AUTH, SELECT, CLIENT SETNAME and TIME in one go; at most longest_connecting
//   ready       calls are written as they come, pipelined, and answered in order
//   backing_off the last attempt failed or the connection was lost, and somebody waits for the next attempt
//
// One operation, one budget: `done` is called once, by the budget's end at the latest, whatever the store does. A wait
// that does not fit is not begun: the call is answered at once. Within the budget these are asked again: a call that
// was not written; one that the store put off by name (LOADING, BUSY, ...: redis_refusal.h); and, if the caller allows
// it, one that was written when the connection was lost and so may have run.
// Destroying a call's handle cancels it: `done` is dropped with it, a reply that still comes is dropped in its order,
// and the connection serves the others. Destroying the connection drops all calls, unanswered. Both are allowed inside
// `done` and `connected`.
// A store that takes bytes and says nothing: a new call that finds an older one over, unanswered for longest_silence
// and no reply since, is not written behind it; the connection is given up for a new one. SIGPIPE must be ignored
// (block_signals_early() does it): libuv writes to stores that may have gone.
#include <uv.h>

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/budget.h"
#include "lease/redis_reply.h"
#include "lease/redis_url.h"
#include "lease/store_clock.h"
namespace moult {
class TlsContext;

inline constexpr std::size_t most_redis_calls = 4096;             // waiting, written and cancelled but unanswered
inline constexpr std::size_t most_redis_bytes_unsent = 16 << 20;  // of calls that the store does not take
inline constexpr Duration longest_connecting = std::chrono::seconds(5);  // one attempt; nobody needs to wait for it
inline constexpr Duration longest_silence = std::chrono::seconds(1);
// Between attempts, and between askings of a call that the store put off. The first retry is at once.
inline constexpr Duration redis_first_wait = std::chrono::milliseconds(50),
                          redis_longest_wait = std::chrono::seconds(1);

struct RedisOptions {
  RedisAddress address;                   // its password is there, wherever it came from
  std::shared_ptr<const TlsContext> tls;  // for rediss://, else null
  std::string client_name;                // for CLIENT LIST there; empty: none. No spaces
  std::uint64_t seed = 0;                 // of the jitter: differs from process to process
};

// Why there is no reply. One sentence for a person, without secrets.
struct RedisFailure {
  std::string message;
  bool may_have_run;  // it was written and no reply came: asking again with the same operation id is safe, else unknown
  bool refused = false;  // the store answers, and this is what it says
};
// An error that the store answered and that is the caller's to act on (NOSCRIPT, ERR of a script) is a RedisReply.
using RedisAnswer = std::variant<RedisReply, RedisFailure>;

enum class IfLost { ask_again, give_up };  // a call that was written when the connection was lost

using RedisWords = std::vector<std::string>;

class RedisCall {  // a handle
 public:
  virtual ~RedisCall() = default;
};

struct RedisDescription {
  const char* state;    // "idle", "connecting", "ready", "backing_off"
  std::string store;    // printable
  std::string trouble;  // of the last attempt or loss, while it lasts: until a call is answered again
  MonotonicTime since;  // of the trouble; without one: of the connection
  std::size_t waiting, in_flight;
  std::uint64_t connects;  // that came to be ready
  bool refused;            // the trouble: as RedisFailure::refused
};

class RedisConnection {
 public:
  using Done = std::function<void(RedisAnswer)>;

  // `connected` is called each time a connection is ready, before what waits is written: a store that may be another,
  // with another clock, to be told what went on without it. It may call.
  RedisConnection(uv_loop_t*, RedisOptions, std::function<void()> connected = {});
  ~RedisConnection();
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  // `done` is never called from inside. The words are made when they are written (which may be at once), anew for each
  // asking, in the clock of the store that will read them: so an end in ARGV is right also after a fail-over. Whoever
  // makes them only makes them: no calls from there.
  [[nodiscard]] std::unique_ptr<RedisCall> call(std::function<RedisWords(const StoreClock&)> words, Budget, IfLost,
                                                Done done);
  [[nodiscard]] std::unique_ptr<RedisCall> call(RedisWords words, Budget, IfLost, Done done);

  // A reply told the store's time, just now: after a `late`, say.
  void heard_time(StoreClock::Time);

  RedisDescription describe() const;

 private:
  class Core;
  std::shared_ptr<Core> core_;  // lives a little longer when it is destroyed inside a callback of its own
};
}  // namespace moult
