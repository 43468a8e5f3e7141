#pragma once
// Scheduled calls: which are due, none twice at once, one catch-up (DESIGN §8). Pure; both clocks come in as values.
// Run by Caller, which asks the store and delivers.
//
//   waiting  -> claiming  due, scope fleet
//   waiting  -> running   due, scope instance; or run by hand
//   claiming -> running   the claim is ours
//   claiming -> waiting   it is another's, or the store did not answer in time: at most once comes first
//   running  -> waiting   answered, or given up undelivered
//
// Due times are anchored in wall time: how long a call takes, or how late it began, moves none of them. What falls due
// while the call is in hand, or while nobody could look (a machine that stood still, a clock that was set forwards), is
// made up for by one call, whatever number was missed; its due time is the first that was missed. So a fleet whose
// instances were late by different times still claims the same one. A run by hand is a call like others, but takes no
// due time's place and is claimed by nobody; one that comes while its call is in hand changes nothing.
//
// When the clock is set back, the next due time is found anew by the new clock, so that nothing waits for a time that
// was hours away; but the one right before it stays served: a correction by some milliseconds fires nothing twice.
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/step.h"
#include "master/sleep/scheduled_call.h"
namespace moult {
enum class CallState { waiting, claiming, running };
struct Call {
  std::string name;
  CallState state = CallState::waiting;
  WallTime next_at = WallTime::max();  // the first due time that is not served yet; max: in no foreseeable time
  WallTime due{};                      // claiming, running: of the call in hand
  bool by_hand = false;                // likewise: it has no due time, and `due` is when it was asked for
  std::optional<int> last_status;      // HTTP; none: never answered, or the last one was given up undelivered
};
struct Schedule {
  std::vector<Call> calls;  // as in the policy, in its order
  WallTime seen{};          // the wall clock at the last event: was it set back since?
};
struct SchedulePolicy {
  std::vector<ScheduledCall> calls;
  // The timer is monotonic, due times are wall time: never further away than this, so that a clock that was set is
  // noticed. A choice: cron lines have whole minutes.
  Duration look_at_least_every = std::chrono::minutes(1);
};

// Each names its call; one that is not in that state, or has no such name, is too late and changes nothing.
struct Claimed {
  std::string name;
  bool ours;
};
struct Answered {
  std::string name;
  int status;
};
struct Undelivered {
  std::string name;
};
struct RunNow {
  std::string name;
};
using ScheduleEvent = std::variant<Claimed, Answered, Undelivered, RunNow, TimePassed>;

struct Claim {  // answered with Claimed, within the call's budget
  std::string name;
  WallTime due;
};
struct Deliver {  // answered with Answered or Undelivered, within the call's budget
  std::string name;
  WallTime due;
};
using ScheduleAction = std::variant<Claim, Deliver>;

Schedule begin(const SchedulePolicy&, Clocks now);  // nothing before `now` is made up for
Step<Schedule, ScheduleAction> transition(Schedule, const ScheduleEvent&, const SchedulePolicy&, Clocks now);
MonotonicTime next_deadline(const Schedule&, const SchedulePolicy&, Clocks now);
// The same where the policy looks as often as usual.
inline MonotonicTime next_deadline(const Schedule& schedule, Clocks now) { return next_deadline(schedule, {}, now); }

// For the guard: the earliest due time that is not over. A call in hand is due until it has ended, from before it is
// claimed or delivered: there is no moment in which it is neither due nor in flight. None: there is no schedule.
std::optional<WallTime> next_due(const Schedule&);
// The same on the clock that Idle has.
MonotonicTime next_call_due(const Schedule&, Clocks now);

std::string_view name_of(CallState);
}  // namespace moult
