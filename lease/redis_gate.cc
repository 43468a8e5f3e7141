#include "lease/redis_gate.h"

#include <algorithm>

#include "lease/redis_gate_core.h"
namespace moult {
// asking -> held -> lost, or over: refused.
class RedisGate::RedisGrant final : public Grant, private Holder {
 public:
  RedisGrant(std::shared_ptr<Core> core, Urgency urgency, Budget budget, std::function<void(GateAnswer)> answered)
      : core_(std::move(core)),
        operation_(core_->question_begins()),
        urgency_(urgency),
        budget_(budget),
        asked_at_(core_->now()),
        answered_(std::move(answered)),
        timer_(core_->loop(), [this] { renew(); }) {
    call_ = core_->ledger().ask(
        [this](const StoreClock& clock) -> LedgerRequest {
          return core_->question(operation_, urgency_, clock.at(budget_.end));
        },
        budget_, [this](StoreLedger::Answer said) { heard(said); });
  }
  ~RedisGrant() override {
    core_->holders.erase(this);
    if (token_) core_->release(*token_);
    else if (answered_) core_->withdraw(operation_, budget_);
    if (answered_) core_->question_is_over();
  }

 private:
  void heard(const StoreLedger::Answer& said) {
    if (core_->closed()) return;
    const LedgerReply* reply = core_->heard(said);
    GateAnswer answer = reply ? answer_in(*reply) : without_a_reply(std::get<RedisFailure>(said));
    core_->count(answer);
    if (auto* granted = std::get_if<Granted>(&answer)) {
      granted->waited = core_->now() - asked_at_;
      hold(granted->fencing_token);
    }
    const auto core = core_;
    const auto answered = std::exchange(answered_, nullptr);
    answered(answer);  // may destroy this
    core->question_is_over();
  }
  GateAnswer answer_in(const LedgerReply& reply) const {
    if (const auto* granted = std::get_if<Granted>(&reply.answer)) return *granted;
    return core_->hint(std::get<Refused>(reply.answer), urgency_, reply.tokens);
  }
  GateAnswer without_a_reply(const RedisFailure& failure) {
    if (failure.may_have_run) core_->withdraw(operation_, budget_);
    const bool never_asked = budget_.end <= asked_at_;
    return Refused{never_asked ? Refusal::late : Refusal::store_unreachable,
                   urgency_ == Urgency::routine ? ask_again_routine : ask_again_urgent};
  }

  void hold(std::uint64_t token) {
    token_ = token;
    core_->holders.insert(this);
    wait_to_renew();
  }
  // A third of its life at most: the wait fits.
  void wait_to_renew() {
    (void)timer_.after(std::min(core_->ttl() / 3, heartbeat_every), {core_->now() + core_->ttl()});
  }
  void connected() override { renew(); }
  void renew() {
    call_ = core_->ledger().ask(
        [this](const StoreClock&) -> LedgerRequest {
          return Renew{core_->holder(), *token_, core_->instance()};
        },
        {core_->now() + core_->ttl()}, [this](const StoreLedger::Answer& said) { renewed(said); });
    timer_.stop();
  }
  // Without a reply it is asked again: a store that comes back without its memory takes the lease back.
  void renewed(const StoreLedger::Answer& said) {
    const LedgerReply* reply = core_->heard(said);
    if (!reply || std::holds_alternative<Done>(reply->answer)) return wait_to_renew();
    token_.reset();
    core_->holders.erase(this);
    core_->lost_lease();
  }

  std::shared_ptr<Core> core_;
  AskId operation_;
  Urgency urgency_;
  Budget budget_;
  MonotonicTime asked_at_;
  std::function<void(GateAnswer)> answered_;  // until it was called
  std::optional<std::uint64_t> token_;        // while it is held
  std::unique_ptr<RedisCall> call_;
  BudgetTimer timer_;
};

RedisGate::RedisGate(uv_loop_t* loop, RedisGateOptions options, std::function<Capacity()> capacity)
    : core_(std::make_shared<Core>(loop, std::move(options), std::move(capacity))) {}

RedisGate::~RedisGate() { core_->close(); }

std::unique_ptr<Grant> RedisGate::acquire(AskId, Urgency urgency, Budget budget,
                                          std::function<void(GateAnswer)> answered) {
  return std::make_unique<RedisGrant>(core_, urgency, budget, std::move(answered));
}

void RedisGate::capacity_changed() { core_->capacity_changed(); }
void RedisGate::leave(Budget budget, std::function<void()> gone) { core_->leave(budget, std::move(gone)); }
void RedisGate::debit(unsigned recycles) { core_->debit(recycles); }
GateDescription RedisGate::describe() const { return core_->describe(); }

std::unique_ptr<RedisCall> RedisGate::look(Budget budget, std::function<void(Result<FleetView>)> done) {
  return core_->ledger().ask([](const StoreClock&) -> LedgerRequest { return Look{}; }, budget,
                             [done = std::move(done)](const StoreLedger::Answer& said) {
                               if (const auto* reply = std::get_if<LedgerReply>(&said))
                                 return done(std::get<FleetView>(reply->answer));
                               done(Error{std::get<RedisFailure>(said).message});
                             });
}
}  // namespace moult
