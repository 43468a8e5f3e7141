#include "master/sleep/sleeper.h"

#include <algorithm>
#include <utility>

namespace moult {
namespace {
bool somebody_serves(const Pool& pool) {
  return std::ranges::any_of(pool.workers, [](const Worker& w) { return w.state == WorkerState::serving; });
}

// Spares, also those that still start or end, have met nobody.
bool nobody_is_left(const Pool& pool) {
  return std::ranges::none_of(pool.workers, [](const Worker& w) { return w.slot.has_value(); });
}

bool ends(Mode mode) {
  switch (mode) {
    case Mode::serve:
    case Mode::sleep: return false;
    case Mode::delay:
    case Mode::draining:
    case Mode::last:
    case Mode::quick:
    case Mode::finished: break;
  }
  return true;
}

const char* why_awake(std::optional<Waker> woken_by) {
  switch (woken_by.value_or(Waker::operator_wish)) {
    case Waker::caller: return "somebody calls: the app wakes again";
    case Waker::call: return "a scheduled call is due: the app wakes again";
    case Waker::app_due: return "the app's own schedule is due: it wakes again";
    case Waker::operator_wish: break;
  }
  return "it was woken again";
}

std::string or_else(const std::string& text, const std::string& otherwise) { return text.empty() ? otherwise : text; }

Duration left(MonotonicTime until, MonotonicTime now) {
  return until == never ? Duration::zero() : std::max(until - now, Duration::zero());
}
}  // namespace

Sleeper::Sleeper(uv_loop_t* loop, const IdlePolicy& policy, IdleState saved, SleeperParts parts)
    : loop_(loop),
      policy_(policy),
      parts_(std::move(parts)),
      up_since_(now()),
      costs_since_(now()),
      machine_(loop, begin(saved, policy_, now()).state, policy_, [this](const IdleAction& a) { perform(a); }) {
  noted_ = machine_.state().state;
  if (asleep()) down_since_ = now();
  machine_.on_settled([this] { settled(); });
}

void Sleeper::start() {
  parts_.save(noted_);
  if (!asleep()) return;
  parts_.sleep();
  watch_callers(true);  // as begin() has it
  parts_.keep_warm(policy_.warm_for > Duration::zero());
}

void Sleeper::end() {
  if (std::exchange(ended_, true)) return;
  end_stop();
  watch_callers(false);
  settle_wishes();
}

void Sleeper::sleep(Told told) { wish(IdleState::asleep, OperatorSleep{}, std::move(told)); }
void Sleeper::wake(Told told) { wish(IdleState::active, OperatorWake{}, std::move(told)); }

void Sleeper::wish(IdleState wanted, IdleEvent event, Told told) {
  post(std::move(event));
  wishes_.push_back({wanted, std::move(told)});
  settle_wishes();
}

// --- what the pool does

void Sleeper::pool_settled(const Pool& pool) {
  if (ended_) return;
  if (ends(pool.goal.mode)) return end();
  if (pool.goal.mode != Mode::sleep) return;
  if (stage_ == Stage::retiring && nobody_is_left(pool)) return deliver();
  if (begun_ || !asleep() || !pool.goal.candidate) return;
  begun_ = true;
  post(TimePassed{});  // now it is known that the code loads, and --warm-for begins to matter
}

void Sleeper::worker_serving(const Worker&, pid_t) {
  const bool is_first = !std::exchange(begun_, true);
  if (is_first && machine_.state().state == IdleState::active) {
    longest_wake_ = now() - up_since_;
    post(OperatorWake{});  // its first window begins
  }
  post(FirstServing{});
}

void Sleeper::wake_failed(const std::string& cause) {
  if (machine_.state().state != IdleState::waking) return;
  failure_ = cause;
  post(WakeFailed{});
}

// Warm or cold, on a busy machine or a calm one: the longest so far, as nobody minds being awake a little sooner.
void Sleeper::app_due(MonotonicTime at) { post(AppDue{at - std::min(longest_wake_, policy_.wake_timeout)}); }

// --- what the core wants done

void Sleeper::perform(const IdleAction& action) {
  if (ended_) return;
  std::visit(Match{
                 [&](const Sweep&) { machine_.post(Swept{look(parts_.next_call_due, parts_.sweep)}); },
                 [&](const Serve& a) { serve(a); },
                 [&](const Sleep& a) { begin_stop(a); },
                 [&](const WatchCallers& a) {
                   // While the hook runs the workers accept: the master begins when they stop.
                   if (!a.on || stage_ != Stage::hook) watch_callers(a.on);
                 },
                 [&](const RefuseCallers& a) { parts_.refuse_callers(a.until); },
                 [&](const AdmitCallers&) { parts_.admit_callers(); },
                 [&](const DropWarmth&) { parts_.drop_warmth(); },
             },
             action);
}

void Sleeper::begin_stop(const Sleep& sleep) {
  const Idle& idle = machine_.state();
  if (sleep.why == SleepReason::failed_wake) {
    const FailedWake failed{waker_.value_or(Waker::caller), now() - began_, left(idle.wake.retry_at, now()),
                            or_else(or_else(failure_, parts_.trouble()), "no worker served within --wake-timeout")};
    failure_ = failed.cause;
    waker_.reset();
    tell([&](SleepObserver& o) { o.wake_failed(failed); });
  } else {
    failure_.clear();
    down_since_ = never;
  }
  end_stop();
  stop_reason_ = sleep.why;
  began_ = now();
  if (!parts_.before_sleep || sleep.why == SleepReason::failed_wake) return retire();
  stage_ = Stage::hook;
  Underway hook = parts_.before_sleep(sleep.why, [this](const Result<void>& ended) { hook_ended(ended); });
  if (stage_ == Stage::hook) underway_ = std::move(hook);
}

void Sleeper::hook_ended(const Result<void>& result) {
  if (stage_ != Stage::hook) return;
  departed_ = std::move(underway_);
  if (!result) return stop_failed(result.error());
  if (stop_reason_ == SleepReason::idle) {
    const Activity seen = parts_.sweep();
    if (seen.requests > 0 || seen.upgraded > 0 || seen.last_visitor_at > began_) return post(CallerWaits{});
  }
  watch_callers(true);
  retire();
}

void Sleeper::retire() {
  stage_ = Stage::retiring;
  parts_.sleep();  // the pool then settles, and deliver() follows
}

void Sleeper::deliver() {
  stage_ = Stage::delivering;
  if (!parts_.deliver) return delivered({});
  Underway delivery = parts_.deliver([this](const Result<void>& ended) { delivered(ended); });
  if (stage_ == Stage::delivering) underway_ = std::move(delivery);
}

void Sleeper::delivered(const Result<void>& result) {
  if (stage_ != Stage::delivering) return;
  departed_ = std::move(underway_);
  if (!result) return stop_failed(result.error());
  stage_ = Stage::none;
  post(LastGone{});
}

void Sleeper::stop_failed(const Error& why) {
  failure_ = why.message;
  stage_ = Stage::none;
  post(StopFailed{});
}

void Sleeper::end_stop() {
  stage_ = Stage::none;
  underway_.reset();
}

void Sleeper::serve(const Serve& serve) {
  end_stop();
  const Idle& idle = machine_.state();
  if (!serve.why) {
    if (failure_.empty()) failure_ = "it did not end in time";
    const FailedStop failed{stop_reason_, now() - began_, left(idle.stop.retry_at, now()), failure_};
    tell([&](SleepObserver& o) { o.stop_failed(failed); });
  } else {
    waker_ = serve.why;
    began_ = now();
    failure_.clear();
  }
  parts_.serve();
  if (somebody_serves(parts_.pool())) machine_.post(FirstServing{});  // the workers never heard of the stop
}

// Off comes with each way back to active.
void Sleeper::watch_callers(bool on) {
  if (std::exchange(callers_are_watched_, on) != on) parts_.watch_callers(on);
}

// --- what is told of it

void Sleeper::settled() {
  if (ended_) return;
  const IdleState state = machine_.state().state;
  if (state == IdleState::active && waker_) {
    const Duration slept = down_since_ == never ? Duration::zero() : began_ - down_since_;
    const WokeUp up{*std::exchange(waker_, std::nullopt), now() - began_, slept};
    longest_wake_ = std::max(longest_wake_, up.latency);
    up_since_ = now();
    down_since_ = never;
    failure_.clear();
    tell([&](SleepObserver& o) { o.woke(up); });
  }
  if (noted_ != state) note(state);
  settle_wishes();
}

void Sleeper::note(IdleState state) {
  const IdleState before = std::exchange(noted_, state);
  if (before == IdleState::asleep) costs_since_ = now();
  if (state == IdleState::asleep) {
    awake_ += now() - costs_since_;
    if (stop_reason_ != SleepReason::failed_wake) {
      down_since_ = now();
      const FellAsleep down{stop_reason_, now() - began_, began_ - up_since_};
      tell([&](SleepObserver& o) { o.slept(down); });
    }
    if (machine_.state().warm_until != never) parts_.keep_warm(true);
  }
  if (state == IdleState::active) parts_.keep_warm(false);
  parts_.save(state);
  tell([&](SleepObserver& o) { o.idle_state_changed(state); });
}

// What was wished for has come true, or it will not.
void Sleeper::settle_wishes() {
  const IdleState state = machine_.state().state;
  std::vector<std::pair<Told, Result<void>>> over;
  std::erase_if(wishes_, [&](Wish& each) {
    const IdleState on_the_way = each.wanted == IdleState::asleep ? IdleState::stopping : IdleState::waking;
    if (state == on_the_way && !ended_) return false;
    Result<void> outcome;
    if (ended_) outcome = Error{"moult is stopping"};
    else if (state != each.wanted)
      outcome = Error{or_else(
          failure_, each.wanted == IdleState::asleep ? why_awake(machine_.state().woken_by) : "the app sleeps again")};
    over.emplace_back(std::move(each.told), outcome);
    return true;
  });
  for (auto& [told, outcome] : over) told(outcome);
}

IdleDescription Sleeper::describe() const {
  const Idle& idle = machine_.state();
  IdleDescription d{.state = idle.state, .since = now() - idle.since};
  d.blocked_by = kept_awake_by(idle, policy_, now());
  d.woken_by = idle.woken_by;
  d.warm = asleep() && idle.warm_until != never;
  if (d.warm) d.warm_for = left(idle.warm_until, now());
  d.refuses_for = left(idle.wake.retry_at, now());
  d.no_sleep_for = left(idle.stop.retry_at, now());
  d.failure = failure_;
  d.awake = awake_ + (noted_ == IdleState::asleep ? Duration::zero() : now() - costs_since_);
  return d;
}

std::string_view name_of(Waker waker) {
  switch (waker) {
    case Waker::caller: return "caller";
    case Waker::call: return "call";
    case Waker::app_due: return "app_due";
    case Waker::operator_wish: break;
  }
  return "operator";
}

std::string_view name_of(SleepReason why) {
  switch (why) {
    case SleepReason::idle: return "idle";
    case SleepReason::operator_wish: return "operator";
    case SleepReason::failed_wake: break;
  }
  return "failed_wake";
}
}  // namespace moult
