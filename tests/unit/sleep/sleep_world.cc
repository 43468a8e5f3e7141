#include "tests/unit/sleep/sleep_world.h"
namespace moult {
using namespace std::chrono_literals;

SleepWorld::SleepWorld(SchedulePolicy calls, IdlePolicy policy, std::uint64_t seed)
    : random(seed), schedule_policy(std::move(calls)), idle_policy(policy) {
  schedule = begin(schedule_policy, now);
  idle = begin(IdleState::active, idle_policy, now.monotonic).state;
  last_visitor_at = now.monotonic - 1h;
}

// --- the two machines, each as Machine<Core> has it: no event inside another

void SleepWorld::post(const IdleEvent& event) {
  idle_queue_.push_back(event);
  if (!idle_runs_) handle_idle();
}

void SleepWorld::handle_idle() {
  idle_runs_ = true;
  while (!idle_queue_.empty()) {
    auto step = transition(idle, idle_queue_.front(), idle_policy, now.monotonic);
    idle_queue_.pop_front();
    idle = step.state;
    ++count.steps;
    for (const IdleAction& action : step.actions) std::visit([this](const auto& a) { perform(a); }, action);
  }
  idle_runs_ = false;
  if (!schedule_runs_) check();
}

void SleepWorld::post(const ScheduleEvent& event) {
  schedule_queue_.push_back(event);
  if (!schedule_runs_) handle_schedule();
}

void SleepWorld::handle_schedule() {
  schedule_runs_ = true;
  while (!schedule_queue_.empty()) {
    auto step = transition(std::move(schedule), schedule_queue_.front(), schedule_policy, now);
    schedule_queue_.pop_front();
    schedule = std::move(step.state);
    ++count.steps;
    for (const ScheduleAction& action : step.actions) std::visit([this](const auto& a) { perform(a); }, action);
  }
  schedule_runs_ = false;
  if (!idle_runs_) check();
}

// --- what is done, and must make sense

void SleepWorld::perform(const Sweep&) {
  ++count.looks;
  const auto sweep = [this] {
    return Activity{.requests = static_cast<unsigned>(visitors.size()),
                    .upgraded = static_cast<unsigned>(upgraded_.size()),
                    .calls = static_cast<unsigned>(running_calls.size()),
                    .last_visitor_at = last_visitor_at};
  };
  post(IdleEvent{Swept{look([this] { return next_call_due(schedule, now); }, sweep)}});
}

void SleepWorld::perform(const Serve& a) {
  ASSERT_FALSE(wanted_) << "woken twice";
  wanted_ = true;
  drained_at_ = never;
  if (a.why) {
    ++count.wakes;
    count.by_app += *a.why == Waker::app_due;
    count.by_call += *a.why == Waker::call;
    count.wakes_during_stop += in_flight() > 0;
    ASSERT_GE(now.monotonic, window_until_) << "a second attempt in one window";
  }
  boot_fails_ = weather.boots > 0 && below(weather.boots) == 0;
  const bool slow = a.why && weather.slow_boots > 0 && below(weather.slow_boots) == 0;
  boots_at_ = now.monotonic + (slow ? 2 * idle_policy.wake_timeout : up_to(boot_takes));
}

void SleepWorld::perform(const Sleep& a) {
  ASSERT_TRUE(wanted_) << "put to sleep twice";
  switch (a.why) {
    case SleepReason::idle: {
      ++count.sleeps;
      ASSERT_EQ(in_flight() + callers_.size() + waiting_calls.size(), 0u) << "asleep with something in flight";
      ASSERT_GE(now.monotonic, last_visitor_at + idle_policy.idle) << "a visitor was here";
      ASSERT_GE(now.monotonic, idle.window_from + idle_policy.idle) << "it has just woken";
      const auto due = next_due(schedule);
      ASSERT_TRUE(!due || *due - now.wall > idle_policy.idle) << "a call is due";
      break;
    }
    case SleepReason::operator_wish: ++count.sleeps; break;
    case SleepReason::failed_wake: ++count.failed_wakes; break;
  }
  wanted_ = serving_ = false;
  boots_at_ = never;
  stop_fails_ = weather.stops > 0 && below(weather.stops) == 0;
  drained_at_ = now.monotonic + up_to(drain_takes);
  if (drained_at_ == now.monotonic) happen();
}

void SleepWorld::perform(const WatchCallers& a) {
  watching_ = a.on;
  if (a.on && !callers_.empty()) {
    if (first_waits_since_ == never) first_waits_since_ = now.monotonic;
    post(IdleEvent{CallerWaits{}});
  }
  if (a.on && !waiting_calls.empty()) post(IdleEvent{CallDue{}});
}

void SleepWorld::perform(const RefuseCallers& a) {
  ASSERT_GT(a.until, now.monotonic);
  window_until_ = a.until;
  count.refused += static_cast<long>(callers_.size());
  callers_.clear();
  first_waits_since_ = never;
}

void SleepWorld::perform(const AdmitCallers&) {
  ASSERT_GT(window_until_, now.monotonic) << "nobody was refused";
  window_until_ = {};
}

void SleepWorld::perform(const DropWarmth&) {
  ++count.drops;
  ASSERT_EQ(idle.state, IdleState::asleep);
  ASSERT_GE(now.monotonic, idle.since + idle_policy.warm_for);
}

void SleepWorld::perform(const Claim& a) {
  ASSERT_LE(a.due, now.wall);
  const bool ours = weather.claims == 0 || below(weather.claims) != 0;
  count.not_ours += !ours;
  post(ScheduleEvent{Claimed{a.name, ours}});
}

void SleepWorld::perform(const Deliver& a) {
  ++count.calls;
  ASSERT_LE(a.due, now.wall) << "too early";
  ASSERT_FALSE(running_calls.contains(a.name) || waiting_calls.contains(a.name)) << "two at once";
  if (last_due.contains(a.name) && !clock_was_set) { ASSERT_GT(a.due, last_due[a.name]) << "twice"; }
  last_due[a.name] = a.due;
  if (serving_) running_calls[a.name] = now.monotonic + call_takes;
  else waiting_calls[a.name] = now.monotonic + 30s;  // then it is given up
  post(IdleEvent{CallDue{}});
  if (serving_ && call_takes == 0s) end_call(a.name, true);
}

// --- what happens

void SleepWorld::visitor(Duration takes, bool upgraded) {
  if (serving_) {
    last_visitor_at = now.monotonic;
    (upgraded ? upgraded_ : visitors).insert(now.monotonic + takes);
    ++count.served;
    return;
  }
  if (idle.state != IdleState::active && now.monotonic < window_until_) {
    ++count.refused;
    return post(IdleEvent{CallerWaits{}});
  }
  callers_.push_back({takes, upgraded});
  if (idle.state == IdleState::active) return;  // it waits in the backlog: a stop has failed
  if (first_waits_since_ == never) first_waits_since_ = now.monotonic;
  post(IdleEvent{CallerWaits{}});
}

void SleepWorld::first_serves() {
  boots_at_ = never;
  if (boot_fails_ && idle.state == IdleState::waking) return post(IdleEvent{WakeFailed{}});
  serving_ = true;
  first_waits_since_ = never;
  for (const auto& [takes, upgraded] : std::exchange(callers_, {})) visitor(takes, upgraded);
  for (const auto& [name, until] : std::exchange(waiting_calls, {})) running_calls[name] = now.monotonic + call_takes;
  post(IdleEvent{FirstServing{}});
}

void SleepWorld::end_call(const std::string& name, bool answered) {
  running_calls.erase(name);
  waiting_calls.erase(name);
  count.undelivered += !answered;
  if (answered) post(ScheduleEvent{Answered{name, 200}});
  else post(ScheduleEvent{Undelivered{name}});
  if (waiting_calls.empty()) post(IdleEvent{NoCallWaits{}});
}

void SleepWorld::happen() {
  const MonotonicTime at = now.monotonic;
  while (!visitors.empty() && *visitors.begin() <= at) visitors.erase(visitors.begin()), last_visitor_at = at;
  while (!upgraded_.empty() && *upgraded_.begin() <= at) upgraded_.erase(upgraded_.begin()), last_visitor_at = at;
  if (boots_at_ <= at) first_serves();
  for (const auto& [name, ends] : std::map(running_calls))
    if (ends <= at) end_call(name, true);
  for (const auto& [name, ends] : std::map(waiting_calls))
    if (ends <= at) end_call(name, false);
  if (drained_at_ > at) return;
  if (stop_fails_) {
    stop_fails_ = false;
    drained_at_ = never;
    ++count.failed_stops;
    return post(IdleEvent{StopFailed{}});
  }
  if (in_flight() > 0) return;
  drained_at_ = never;
  post(IdleEvent{LastGone{}});
}

MonotonicTime SleepWorld::next_happening() const {
  MonotonicTime soonest = std::min(boots_at_, drained_at_ > now.monotonic ? drained_at_ : never);
  for (const auto* each : {&visitors, &upgraded_})
    if (!each->empty()) soonest = std::min(soonest, *each->begin());
  for (const auto* each : {&running_calls, &waiting_calls})
    for (const auto& [name, ends] : *each) soonest = std::min(soonest, ends);
  return soonest;
}

void SleepWorld::run_for(Duration time) {
  const MonotonicTime end = now.monotonic + time;
  while (now.monotonic < end && !testing::Test::HasFatalFailure()) {
    const MonotonicTime at = std::min(
        {end, next_happening(), next_deadline(idle, now.monotonic), next_deadline(schedule, schedule_policy, now)});
    const Duration step = at - now.monotonic;
    (idle.state == IdleState::asleep ? asleep : awake) += step;
    now.monotonic += step;
    now.wall += step;
    happen();
    const bool schedule_first = below(2) == 0;  // two timers of one moment come in any order
    if (schedule_first) post(ScheduleEvent{TimePassed{}});
    post(IdleEvent{TimePassed{}});
    if (!schedule_first) post(ScheduleEvent{TimePassed{}});
    check_nothing_is_overdue();
  }
}

// --- what must be true after each step

void SleepWorld::check() {
  const MonotonicTime at = now.monotonic;
  const bool up = idle.state == IdleState::active || idle.state == IdleState::waking;
  ASSERT_EQ(wanted_, up);
  ASSERT_EQ(watching_, idle.state != IdleState::active);
  for (const Call& each : schedule.calls)
    ASSERT_EQ(each.state == CallState::running, running_calls.contains(each.name) || waiting_calls.contains(each.name));
  switch (idle.state) {
    case IdleState::active: break;
    case IdleState::asleep:
      ASSERT_EQ(in_flight(), 0u) << "asleep with something in flight";
      ASSERT_FALSE(serving_);
      [[fallthrough]];
    case IdleState::stopping:
      ASSERT_TRUE(callers_.empty()) << "a caller was not heard";
      if (!waiting_calls.empty()) { ASSERT_LE(next_deadline(idle, at), idle.wake.retry_at) << "a call was not heard"; }
      if (idle.app_due_at != never) {
        ASSERT_LE(next_deadline(idle, at), std::max(idle.app_due_at, idle.wake.retry_at));
      }
      break;
    case IdleState::waking:
      if (first_waits_since_ != never) { ASSERT_LE(at - first_waits_since_, idle_policy.wake_timeout); }
      break;
  }
}

void SleepWorld::check_nothing_is_overdue() {
  const MonotonicTime at = now.monotonic;
  ASSERT_GT(next_deadline(idle, at), at) << name_of(idle.state);
  ASSERT_GT(next_deadline(schedule, schedule_policy, now), at);
  if (idle.state == IdleState::stopping) { ASSERT_LT(at - idle.since, idle_policy.stop_timeout); }
  if (idle.state == IdleState::waking) { ASSERT_LT(at - idle.since, idle_policy.wake_timeout); }
  for (std::size_t i = 0; i < schedule.calls.size(); ++i) {
    const Call& call = schedule.calls[i];
    const When& when = schedule_policy.calls[i].when;
    // The next due time by this clock; or the one after it, where a clock that was set back would repeat one.
    const WallTime first = *next_after(when, now.wall), second = *next_after(when, first);
    if (call.state == CallState::waiting) { ASSERT_GT(call.next_at, now.wall); }
    ASSERT_LE(call.next_at, clock_was_set ? second : first) << "a due time was left out";
  }
}
}  // namespace moult
