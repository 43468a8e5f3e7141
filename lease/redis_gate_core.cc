#include "lease/redis_gate_core.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
namespace moult {
namespace {
// check() wants a second at least; whatever rules in the store, renewing does not become a busy loop.
constexpr Duration shortest_ttl = std::chrono::milliseconds(100);

std::string holder_name(const std::string& instance, std::uint64_t drawn) {
  char mark[24];
  std::snprintf(mark, sizeof mark, "#%016" PRIx64, drawn);
  return instance + mark;
}
}  // namespace

RedisGate::Core::Core(uv_loop_t* loop, RedisGateOptions options, std::function<Capacity()> capacity)
    : loop_(loop),
      policy_(options.policy),
      instance_(options.instance),
      news_(std::move(options.news)),
      lease_lost_(std::move(options.lease_lost)),
      random_{options.store.seed},
      holder_(holder_name(instance_, random_.next())),
      capacity_(std::move(capacity)),
      ttl_(options.policy.ttl),
      ledger_(loop, std::move(options.store), options.fleet, policy_, instance_, [this] { connected(); }),
      timer_(loop, [this] { beat(); }) {
  description_.kind = "redis";
  description_.bucket = bucket_of(policy_);
  description_.fleet = std::move(options.fleet);
  description_.store = ledger_.describe().store;
  timer_.at_end_of({now()});  // not now: who knows the capacity is not built yet
}

AskId RedisGate::Core::question_begins() {
  ++asking_;
  return {++operations_};
}

void RedisGate::Core::question_is_over() {
  if (--asking_ == 0 && beat_owed_) beat();
}

void RedisGate::Core::close() {
  capacity_ = nullptr;
  timer_.stop();
  heartbeat_.reset();
  farewell_.reset();
}

bool RedisGate::Core::counts() {
  counts_ = counts_ || capacity_().healthy > 0;
  return counts_;
}

// What the fleet is to know of us. Before we count: nothing. We look, so that a store that is away is noticed, and for
// ourselves.
LedgerRequest RedisGate::Core::word(const StoreClock& clock, Budget budget) const {
  if (!counts_) return Look{};
  const Capacity capacity = leaving_ ? Capacity{0, 0} : capacity_();
  return Heartbeat{instance_, capacity.wanted, capacity.healthy, clock.at(budget.end)};
}

// We were killed and have been started again: our workers are wanted still.
bool RedisGate::Core::is_missed(const LedgerReply& reply) const {
  const auto* view = std::get_if<FleetView>(&reply.answer);
  return view && std::ranges::any_of(
                     view->members, [&](const FleetMember& each) { return each.name == instance_ && each.wanted > 0; });
}

void RedisGate::Core::leave(Budget budget, std::function<void()> gone) {
  leaving_ = true;
  gone_ = std::move(gone);
  timer_.stop();
  heartbeat_.reset();
  say_farewell(budget);
}

// Behind all errands, which are so done when it is answered.
void RedisGate::Core::say_farewell(Budget budget) {
  farewell_ = ledger_.ask([this, budget](const StoreClock& clock) { return word(clock, budget); }, budget,
                          [this, budget](const StoreLedger::Answer& answer) {
                            const LedgerReply* reply = heard(answer);
                            if (!reply || !is_missed(*reply)) return gone_();
                            counts_ = true;
                            say_farewell(budget);
                          });
}

Acquire RedisGate::Core::question(AskId operation, Urgency urgency, StoreTime end) const {
  const Capacity capacity = closed() ? Capacity{0, 0} : capacity_();
  return {operation,
          holder_,
          urgency,
          end,
          {instance_, capacity.wanted, capacity.healthy},
          replacement_cost(capacity, urgency)};
}

const LedgerReply* RedisGate::Core::heard(const StoreLedger::Answer& answer) {
  const auto* reply = std::get_if<LedgerReply>(&answer);
  if (!reply) {
    const auto& failure = std::get<RedisFailure>(answer);
    in_trouble(failure.message, failure.refused);
    return nullptr;
  }
  silent_since_.reset();
  const bool was_in_trouble = !std::exchange(description_.trouble, "").empty();
  const bool is_first = !std::exchange(joined_, true);
  if (news_ && (is_first || was_in_trouble))
    news_({is_first ? StoreNews::Kind::joined : StoreNews::Kind::answers_again, ""});
  ttl_ = std::max(reply->ttl, shortest_ttl);
  description_.tokens = reply->tokens;
  return reply;
}

void RedisGate::Core::in_trouble(const std::string& why, bool refused) {
  const bool is_new = description_.trouble.empty();
  description_.trouble = why;
  if (is_new) in_trouble_since_ = now();
  if (is_new && news_) news_({refused ? StoreNews::Kind::refuses : StoreNews::Kind::silent, why});
}

// A heartbeat takes the place of the one before, and each reconnect begins one: so none may live to be told its
// failure.
void RedisGate::Core::notice_silence() {
  if (!silent_since_) silent_since_ = now();
  if (now() - *silent_since_ < heartbeat_every) return;
  const RedisDescription store = ledger_.describe();
  in_trouble(store.trouble.empty() ? store.store + ": no answer in time" : store.trouble, store.refused);
}

void RedisGate::Core::count(const GateAnswer& answer) {
  if (const auto* refused = std::get_if<Refused>(&answer))
    ++description_.refusals.at(static_cast<std::size_t>(refused->why));
  else ++description_.granted;
}

void RedisGate::Core::lost_lease() {
  ++description_.leases_lost;
  if (lease_lost_) lease_lost_();
}

void RedisGate::Core::errand(LedgerRequest request) {
  if (errands_.size() >= most_errands) errands_.pop_front();
  const auto at = errands_.emplace(errands_.end());
  *at = ledger_.ask([request = std::move(request)](const StoreClock&) { return request; }, {now() + ttl_},
                    [this, at](const StoreLedger::Answer& answer) {
                      heard(answer);
                      errands_.erase(at);
                    });
}

void RedisGate::Core::release(std::uint64_t token) { errand(Release{holder_, token}); }

void RedisGate::Core::withdraw(AskId operation, Budget question) {
  errand(Withdraw{holder_, operation});
  if (question.spent(now())) return;
  if (withdrawn_.size() >= most_errands) withdrawn_.pop_front();
  withdrawn_.push_back({operation, question.end});
}

// A store that stood still may have read the withdrawal before the question.
void RedisGate::Core::withdraw_again() {
  withdrawn_.remove_if([&](const Withdrawn& each) {
    if (each.end > now()) return false;
    errand(Withdraw{holder_, each.operation});
    return true;
  });
}

// None beside a question, which tells our health as well: made before its answer is known but read after it, it would
// say that the worker which the answer takes away still serves, and the minimum would be missed by one.
void RedisGate::Core::beat() {
  if (closed() || leaving_) return;
  const Budget until_the_next{now() + heartbeat_every};
  timer_.at_end_of(until_the_next);
  notice_silence();
  withdraw_again();
  beat_owed_ = asking_ > 0;
  if (beat_owed_) return heartbeat_.reset();
  if (counts()) {
    const Capacity said = capacity_();
    said_wanted_ = said.wanted > 0;
    said_whole_ = said.healthy >= said.wanted;
  }
  heartbeat_ = ledger_.ask([this, until_the_next](const StoreClock& clock) { return word(clock, until_the_next); },
                           until_the_next,
                           [this](const StoreLedger::Answer& answer) {
                             const LedgerReply* reply = heard(answer);
                             if (!reply || !is_missed(*reply)) return;
                             counts_ = true;
                             beat();
                           });
  if (payment_) payment_->call.reset();  // asked anew: the same operation
  pay();
}

// Who has come up is not left to be counted as down until the next heartbeat.
void RedisGate::Core::capacity_changed() {
  if (closed() || leaving_ || !counts()) return;
  const Capacity now_is = capacity_();
  if (said_wanted_ != (now_is.wanted > 0) || (!said_whole_ && now_is.healthy >= now_is.wanted)) beat();
}

// The heartbeat first: a store that forgot us would forget what we paid.
void RedisGate::Core::connected() {
  beat();
  for (Holder* each : holders) each->connected();
}

void RedisGate::Core::debit(unsigned recycles) {
  owed_ = std::min(owed_ + recycles, most_owed);
  pay();
}

// One at a time, each with its own operation: so one that is asked twice is one.
void RedisGate::Core::pay() {
  if (!payment_ && owed_ > 0)
    payment_ = Payment{{random_.next() | 1}, static_cast<unsigned>(std::exchange(owed_, 0)), {}};
  if (!payment_ || payment_->call) return;
  const Budget budget{now() + heartbeat_every};
  payment_->call = ledger_.ask(
      [this, budget](const StoreClock& clock) -> LedgerRequest {
        return Debit{payment_->recycles, instance_, payment_->operation, clock.at(budget.end)};
      },
      budget, [this](const StoreLedger::Answer& answer) { paid(answer); });
}

void RedisGate::Core::paid(const StoreLedger::Answer& answer) {
  payment_->call.reset();
  const LedgerReply* reply = heard(answer);
  if (!reply || !std::holds_alternative<Done>(reply->answer)) return;
  payment_.reset();
  pay();
}

GateDescription RedisGate::Core::describe() const {
  GateDescription shown = description_;
  MonotonicTime since = shown.trouble.empty() ? now() : in_trouble_since_;
  if (const RedisDescription store = ledger_.describe(); !store.trouble.empty()) {
    shown.trouble = store.trouble;
    since = std::min(since, store.since);
  }
  shown.in_trouble = now() - since;
  shown.state = shown.trouble.empty() ? "ok" : "unreachable";
  shown.lease_held = !holders.empty();
  shown.owed = owed_ + (payment_ ? payment_->recycles : 0);
  return shown;
}
}  // namespace moult
