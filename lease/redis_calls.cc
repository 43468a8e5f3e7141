#include "lease/redis_calls.h"

#include <algorithm>
#include <utility>

#include "base/budget_timer.h"
namespace moult {
struct PendingCall {
  enum class Place { waiting, written, resting, failed, over };

  PendingCall(RedisCalls* calls, uv_loop_t* loop, RedisCalls::Words make_words, Budget whole, IfLost lost,
              RedisConnection::Done tell)
      : owner(calls),
        words(std::move(make_words)),
        budget(whole),
        if_lost(lost),
        done(std::move(tell)),
        timer(loop, [this] { owner->timer_fired(*this); }) {}

  RedisCalls* owner;  // null: it is over, or they all are
  RedisCalls::Words words;
  Budget budget;
  IfLost if_lost;
  RedisConnection::Done done;
  Place place = Place::waiting;
  RedisCalls::Queue* queue = nullptr;
  RedisCalls::Queue::iterator position;
  Backoff rests;
  bool may_have_run = false;
  std::string failure;
  MonotonicTime written_at{};
  BudgetTimer timer;  // the budget's end, but: of one that rests, its rest; of one that failed, at once
};

class RedisCallHandle final : public RedisCall {
 public:
  explicit RedisCallHandle(std::shared_ptr<PendingCall> call) : call_(std::move(call)) {}
  ~RedisCallHandle() override {
    if (call_->owner) call_->owner->cancel(*call_);
  }

 private:
  std::shared_ptr<PendingCall> call_;
};

RedisCalls::RedisCalls(uv_loop_t* loop, std::uint64_t seed, Events events)
    : loop_(loop), random_{seed}, events_(std::move(events)) {}

RedisCalls::~RedisCalls() {
  for (Queue* queue : {&waiting_, &written_, &aside_, &back_})
    for (const auto& call : *queue) {
      call->owner = nullptr;
      call->timer.stop();
      call->done = nullptr;
    }
}

std::unique_ptr<RedisCall> RedisCalls::add(Words words, Budget budget, IfLost if_lost, RedisConnection::Done done) {
  const std::size_t before = waiting() + written();
  auto call = std::make_shared<PendingCall>(this, loop_, std::move(words), budget, if_lost, std::move(done));
  waiting_.push_back(call);
  call->queue = &waiting_;
  call->position = std::prev(waiting_.end());
  if (before < most_redis_calls) call->timer.at_end_of(budget);
  else fail_soon(*call, "there are " + std::to_string(before) + " calls already, and it does not answer");
  return std::make_unique<RedisCallHandle>(std::move(call));
}

Budget RedisCalls::longest_waiting() const {
  Budget longest{};
  for (const auto& call : waiting_) longest.end = std::max(longest.end, call->budget.end);
  return longest;
}

RedisWords RedisCalls::write_next(const StoreClock& clock) {
  PendingCall& call = *waiting_.front();
  call.place = PendingCall::Place::written;
  call.written_at = monotonic_now(loop_);
  move(call, written_, written_.end());
  return call.words(clock);
}

bool RedisCalls::store_is_silent(MonotonicTime now) const {
  return unanswered_since_ && now - *unanswered_since_ >= longest_silence;
}

void RedisCalls::answered(RedisReply reply, const RedisRefusal& refusal) {
  unanswered_since_.reset();
  const auto call = written_.front();
  if (!call->owner) return written_.pop_front();
  switch (refusal.recourse) {
    case Recourse::callers: remove(*call); return tell(*call, std::move(reply));
    case Recourse::ask_again:
      if (rest(*call)) return;
      [[fallthrough]];
    case Recourse::final: remove(*call); return tell(*call, RedisFailure{refusal.sentence, call->may_have_run});
    case Recourse::reconnect: break;
  }
  call->place = PendingCall::Place::waiting;
  move(*call, waiting_, waiting_.begin());
}

void RedisCalls::stand_back() {
  while (!waiting_.empty()) move(*waiting_.front(), back_, back_.end());
}

void RedisCalls::stand_again() {
  while (!back_.empty()) move(*back_.front(), waiting_, waiting_.end());
}

void RedisCalls::lost(const std::string& why) {
  unanswered_since_.reset();
  while (!written_.empty()) {  // from the last to the first, so that they wait in their order
    PendingCall& call = *written_.back();
    if (!call.owner) {
      written_.pop_back();
      continue;
    }
    call.may_have_run = true;
    if (call.if_lost == IfLost::give_up) {
      fail_soon(call, why);
      continue;
    }
    call.place = PendingCall::Place::waiting;
    move(call, waiting_, waiting_.begin());
  }
}

void RedisCalls::shed(Duration wait, const std::string& why) {
  const MonotonicTime now = monotonic_now(loop_);
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    PendingCall& call = **at++;
    if (!call.budget.affords(wait, now)) fail_soon(call, why);
  }
}

void RedisCalls::fail_all_waiting(const std::string& why) {
  while (!waiting_.empty()) fail_soon(*waiting_.front(), why);
}

void RedisCalls::timer_fired(PendingCall& fired) {
  const auto call = *fired.position;  // until it is told
  switch (call->place) {
    case PendingCall::Place::failed: remove(*call); return tell(*call, RedisFailure{call->failure, call->may_have_run});
    case PendingCall::Place::waiting:
      remove(*call);
      return tell(*call, RedisFailure{events_.what_is_up(), call->may_have_run});
    case PendingCall::Place::written:  // and it stays there
      suspect(*call);
      return tell(*call, RedisFailure{events_.what_is_up(), true});
    case PendingCall::Place::resting:
      call->place = PendingCall::Place::waiting;
      call->timer.at_end_of(call->budget);
      move(*call, waiting_, waiting_.end());
      return events_.somebody_waits();
    case PendingCall::Place::over: return;
  }
}

void RedisCalls::cancel(PendingCall& call) {
  call.owner = nullptr;
  call.timer.stop();
  call.done = nullptr;
  if (call.place == PendingCall::Place::written) suspect(call);
  else remove(call);
}

void RedisCalls::move(PendingCall& call, Queue& to, Queue::iterator before) {
  to.splice(before, *call.queue, call.position);
  call.queue = &to;
}

void RedisCalls::fail_soon(PendingCall& call, std::string why) {
  call.place = PendingCall::Place::failed;
  call.failure = std::move(why);
  call.timer.at_end_of({monotonic_now(loop_)});
  move(call, aside_, aside_.end());
}

bool RedisCalls::rest(PendingCall& call) {
  const MonotonicTime now = monotonic_now(loop_);
  call.rests = failed_unhurried(call.rests, {redis_first_wait, redis_longest_wait}, now, random_);
  if (!call.timer.after(call.rests.retry_at - now, call.budget)) return false;
  call.place = PendingCall::Place::resting;
  move(call, aside_, aside_.end());
  return true;
}

void RedisCalls::remove(PendingCall& call) {
  call.queue->erase(call.position);
  call.place = PendingCall::Place::over;
}

void RedisCalls::tell(PendingCall& call, RedisAnswer answer) {
  call.owner = nullptr;
  call.timer.stop();
  const auto done = std::exchange(call.done, nullptr);
  done(std::move(answer));
}

void RedisCalls::suspect(const PendingCall& call) {
  unanswered_since_ = std::min(unanswered_since_.value_or(call.written_at), call.written_at);
}
}  // namespace moult
