#include "lease/local_gate.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lease/own_ledger.h"
namespace moult {
// The ledger with its clock, shared with the grants that may have to give something back.
class LocalGate::Book {
 public:
  Book(uv_loop_t* loop, const FleetPolicy& policy, std::string instance, std::function<Capacity()> capacity)
      : loop_(loop), ledger_(loop, policy, std::move(instance)), capacity_(std::move(capacity)) {}

  uv_loop_t* loop() const { return loop_; }
  const FleetPolicy& policy() const { return ledger_.policy(); }
  void close() { capacity_ = nullptr; }
  bool closed() const { return !capacity_; }

  GateAnswer ask(AskId operation, Urgency urgency, Budget budget) {
    const LedgerAnswer said = ledger_.acquire(operation, urgency, OwnLedger::time_of(budget.end), capacity_());
    const auto* refused = std::get_if<Refused>(&said);
    if (!refused) {
      ++granted_;
      return std::get<Granted>(said);
    }
    ++refusals_.at(static_cast<std::size_t>(refused->why));
    const bool budget_only = refused->why == Refusal::no_tokens || refused->why == Refusal::lease_held;
    if (urgency == Urgency::routine || !budget_only) return *refused;
    ledger_.apply(Debit{1});
    ++ungated_;
    return Granted{0, false, {}};
  }
  void took(Duration time) { answer_times_.add(time); }
  void hear() {
    const Capacity capacity = capacity_();
    ledger_.apply(Heartbeat{ledger_.instance(), capacity.wanted, capacity.healthy, StoreTime::max()});
  }
  // Heard from with each, so that a lease of hours leaves no instance forgotten, whose tokens would be nobody's.
  void renew(std::uint64_t token) {
    if (!closed()) hear();
    ledger_.apply(Renew{ledger_.instance(), token, ledger_.instance()});
  }
  void release(std::uint64_t token) { ledger_.apply(Release{ledger_.instance(), token}); }

  GateDescription describe() const {
    const FleetView seen = look();
    return {.kind = "local",
            .lease_held = !seen.permits.empty(),
            .tokens = seen.tokens,
            .bucket = bucket_of(seen.ruling.policy),
            .tokens_per_hour = seen.tokens_per_hour,
            .refusals = refusals_,
            .granted = granted_,
            .ungated = ungated_,
            .answer_times = answer_times_};
  }
  FleetView look() const { return ledger_.look(); }

 private:
  uv_loop_t* loop_;
  OwnLedger ledger_;
  std::function<Capacity()> capacity_;
  std::array<std::uint64_t, 5> refusals_{};
  std::uint64_t granted_ = 0, ungated_ = 0;
  AnswerTimes answer_times_;
};

// Asks in the loop's next turn; then, if a permit was granted, its timer renews it until this is destroyed.
class LocalGate::LocalGrant final : public Grant {
 public:
  LocalGrant(std::shared_ptr<Book> book, AskId operation, Urgency urgency, Budget budget,
             std::function<void(GateAnswer)> answered)
      : book_(std::move(book)),
        operation_(operation),
        urgency_(urgency),
        budget_(budget),
        asked_at_(monotonic_now(book_->loop())),
        answered_(std::move(answered)),
        timer_(book_->loop(), [this] { token_ ? renew() : ask(); }) {
    timer_.at_end_of({asked_at_});
  }
  ~LocalGrant() override {
    if (token_) book_->release(*token_);
  }

 private:
  void ask() {
    if (book_->closed()) return;
    GateAnswer answer = book_->ask(operation_, urgency_, budget_);
    const Duration waited = monotonic_now(book_->loop()) - asked_at_;
    book_->took(waited);
    if (auto* granted = std::get_if<Granted>(&answer)) {
      granted->waited = waited;
      if (granted->gated) hold(granted->fencing_token);
    }
    const auto answered = std::exchange(answered_, nullptr);
    answered(answer);  // may destroy this
  }
  void hold(std::uint64_t token) {
    token_ = token;
    wait_to_renew();
  }
  void renew() {
    book_->renew(*token_);
    wait_to_renew();
  }
  // Within what the lease has left. (A time to live has at least a second: the wait fits.)
  void wait_to_renew() {
    const Duration ttl = book_->policy().ttl;
    (void)timer_.after(ttl / 3, {monotonic_now(book_->loop()) + ttl});
  }

  std::shared_ptr<Book> book_;
  AskId operation_;
  Urgency urgency_;
  Budget budget_;
  MonotonicTime asked_at_;
  std::function<void(GateAnswer)> answered_;
  std::optional<std::uint64_t> token_;
  BudgetTimer timer_;
};

LocalGate::LocalGate(uv_loop_t* loop, const FleetPolicy& policy, std::string instance,
                     std::function<Capacity()> capacity)
    : book_(std::make_shared<Book>(loop, policy, std::move(instance), std::move(capacity))) {}

LocalGate::~LocalGate() { book_->close(); }

std::unique_ptr<Grant> LocalGate::acquire(AskId operation, Urgency urgency, Budget budget,
                                          std::function<void(GateAnswer)> answered) {
  return std::make_unique<LocalGrant>(book_, operation, urgency, budget, std::move(answered));
}

GateDescription LocalGate::describe() const { return book_->describe(); }

void LocalGate::leave(Budget budget, std::function<void()> gone) {
  farewell_ = std::make_unique<BudgetTimer>(book_->loop(), std::move(gone));  // there is nobody to tell
  (void)farewell_->after(Duration::zero(), budget);
}

FleetLook LocalGate::look(Budget budget, std::function<void(Result<FleetView>)> done) {
  auto next_turn = std::make_shared<BudgetTimer>(book_->loop(), [book = book_, done = std::move(done)] {
    if (book->closed()) return;
    book->hear();
    done(book->look());
  });
  (void)next_turn->after(Duration::zero(), budget);  // zero always fits
  return next_turn;
}
}  // namespace moult
