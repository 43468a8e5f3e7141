#include "master/connections/abort_ladder.h"
namespace moult {
AbortLadder answered(AbortLadder ladder, AbortAnswer answer, const AbortPolicy& policy, MonotonicTime now,
                     Random& random) {
  if (ladder.state != AbortState::climbing) return ladder;
  ++ladder.attempts;
  switch (answer) {
    case AbortAnswer::done: ladder.state = AbortState::aborted; break;
    case AbortAnswer::gone: ladder.state = AbortState::gone; break;
    case AbortAnswer::refused: ladder.state = AbortState::fail_closed; break;
    case AbortAnswer::failed:
      if (ladder.attempts >= policy.most_attempts) ladder.state = AbortState::fail_closed;
      else ladder.backoff = failed_unhurried(ladder.backoff, policy.retry, now, random);
      break;
  }
  return ladder;
}
}  // namespace moult
