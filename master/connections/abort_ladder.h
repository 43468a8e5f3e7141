#pragma once
// What is left to try when a connection has stalled that must end (before a sleep, at a stop). Pure.
//
// One that we hold is closed with `linger 0` (send_queue.h), which cannot fail: the first rung. One that others hold,
// or nobody, is the kernel's to destroy, at our request (socket_diagnosis.h), and that may be refused:
//
//   climbing -> aborted      the kernel did it
//   climbing -> gone         there was nothing to abort any more
//   climbing -> fail_closed  not permitted, or it failed `most_attempts` times: who asked must not act as if it were
//   over
#include "base/backoff.h"
#include "base/clock.h"
#include "base/random.h"
namespace moult {
enum class AbortAnswer {
  done,
  gone,
  refused,  // no right to, or the kernel cannot (SOCK_DESTROY is an option of its build): asking again is no use
  failed    // this time
};
struct AbortPolicy {
  unsigned most_attempts = 5;
  BackoffPolicy retry{std::chrono::milliseconds(10), std::chrono::seconds(1)};
};
enum class AbortState { climbing, aborted, gone, fail_closed };
struct AbortLadder {
  AbortState state = AbortState::climbing;
  unsigned attempts = 0;
  Backoff backoff;  // its retry_at: when the next attempt is due, while climbing
};

AbortLadder answered(AbortLadder, AbortAnswer, const AbortPolicy&, MonotonicTime now, Random&);
}  // namespace moult
