#include "lease/fallback_gate.h"

#include <optional>
#include <utility>

#include "base/budget_timer.h"
#include "lease/own_ledger.h"
#include "lease/urgency_ladder.h"
namespace moult {
// The gate to the store, and the ledger of this instance alone: a fleet of one, by its own clock.
class FallbackGate::Core {
 public:
  Core(uv_loop_t* loop, FallbackOptions options, std::function<Capacity()> capacity)
      : loop_(loop),
        ladder_policy_{options.urgent_wait},
        ledger_(loop, options.store.policy, options.store.instance),
        capacity_(capacity),
        random_{~options.store.store.seed},
        store_(std::make_unique<RedisGate>(loop, std::move(options.store), std::move(capacity))) {}

  uv_loop_t* loop() const { return loop_; }
  MonotonicTime now() const { return monotonic_now(loop_); }
  RedisGate& store() { return *store_; }
  void close() { store_.reset(); }
  bool closed() const { return !store_; }

  LadderStep begin(Urgency urgency, Budget budget) {
    return moult::begin(urgency, budget, ladder_policy_, now(), random_);
  }
  GateAnswer go_ungated(Urgency urgency, Refusal in_spite_of) {
    const auto said = ledger_.acquire({++operations_}, urgency, StoreTime::max(), capacity_());
    const auto* refused = std::get_if<Refused>(&said);
    if (refused && refused->why == Refusal::below_minimum) return *refused;
    if (const auto* granted = std::get_if<Granted>(&said))
      ledger_.apply(Release{ledger_.instance(), granted->fencing_token});
    else ledger_.apply(Debit{1});
    store_->debit(1);
    ++counted_.ungated;
    count(in_spite_of);
    return Granted{0, false, {}};
  }
  void count(const GateAnswer& answer, Duration waited) {
    counted_.answer_times.add(waited);
    if (const auto* refused = std::get_if<Refused>(&answer)) count(refused->why);
    else if (std::get<Granted>(answer).gated) ++counted_.granted;
  }
  void on_waiting(Waiting told) { waiting_ = std::move(told); }
  void waits(AskId ask, const TellWait& wait) const {
    if (waiting_) waiting_(ask, wait.why, wait.until);
  }
  GateDescription describe() const {
    GateDescription shown = store_->describe();
    shown.refusals = counted_.refusals;
    shown.granted = counted_.granted;
    shown.ungated = counted_.ungated;
    shown.answer_times = counted_.answer_times;
    if (!shown.trouble.empty()) shown.tokens = ledger_.look().tokens;
    return shown;
  }

 private:
  void count(Refusal why) { ++counted_.refusals.at(static_cast<std::size_t>(why)); }

  uv_loop_t* loop_;
  LadderPolicy ladder_policy_;
  OwnLedger ledger_;
  std::function<Capacity()> capacity_;
  Waiting waiting_;
  Random random_;
  std::unique_ptr<RedisGate> store_;  // none: the gate is gone
  std::uint64_t operations_ = 0;
  GateDescription counted_;
};

class FallbackGate::FallbackGrant final : public Grant {
 public:
  FallbackGrant(std::shared_ptr<Core> core, AskId ask, Urgency urgency, Budget budget,
                std::function<void(GateAnswer)> answered)
      : core_(std::move(core)),
        ask_(ask),
        asked_at_(core_->now()),
        answered_(std::move(answered)),
        timer_(core_->loop(), [this] { post(TimePassed{}); }) {
    take(core_->begin(urgency, budget));
  }

 private:
  void post(const LadderEvent& event) {
    if (!core_->closed()) take(transition(ladder_, event, core_->now()));
  }
  void take(LadderStep step) {
    ladder_ = step.state;
    if (const MonotonicTime at = next_deadline(ladder_); at != never) timer_.at_end_of({at});
    for (const LadderAction& action : step.actions)  // at most one
      return std::visit(
          Match{[&](const AskStore& a) { ask_store(a.budget); }, [&](const AnswerPool& a) { answer(a.answer); },
                [&](const GoUngated& a) { go_ungated(a.in_spite_of); },
                [&](const TellWait& a) { core_->waits(ask_, a); }},
          action);
  }
  void ask_store(Budget budget) {
    grant_.reset();
    grant_ = core_->store().acquire(ask_, ladder_.urgency, budget,
                                    [this](const GateAnswer& said) { post(StoreAnswered{said}); });
  }
  void go_ungated(Refusal in_spite_of) {
    grant_.reset();
    answer(core_->go_ungated(ladder_.urgency, in_spite_of));
  }
  void answer(GateAnswer said) {
    const Duration waited = core_->now() - asked_at_;
    if (auto* granted = std::get_if<Granted>(&said)) granted->waited = waited;
    core_->count(said, waited);
    const auto answered = std::exchange(answered_, nullptr);
    answered(said);  // may destroy this
  }

  std::shared_ptr<Core> core_;
  AskId ask_;
  MonotonicTime asked_at_;
  std::function<void(GateAnswer)> answered_;
  Ladder ladder_;
  std::unique_ptr<Grant> grant_;  // of the store
  BudgetTimer timer_;
};

FallbackGate::FallbackGate(uv_loop_t* loop, FallbackOptions options, std::function<Capacity()> capacity)
    : core_(std::make_shared<Core>(loop, std::move(options), std::move(capacity))) {}

FallbackGate::~FallbackGate() { core_->close(); }

std::unique_ptr<Grant> FallbackGate::acquire(AskId ask, Urgency urgency, Budget budget,
                                             std::function<void(GateAnswer)> answered) {
  return std::make_unique<FallbackGrant>(core_, ask, urgency, budget, std::move(answered));
}

void FallbackGate::on_waiting(Waiting told) { core_->on_waiting(std::move(told)); }

void FallbackGate::capacity_changed() { core_->store().capacity_changed(); }

void FallbackGate::leave(Budget budget, std::function<void()> gone) { core_->store().leave(budget, std::move(gone)); }

FleetLook FallbackGate::look(Budget budget, std::function<void(Result<FleetView>)> done) {
  return core_->store().look(budget, std::move(done));
}

GateDescription FallbackGate::describe() const { return core_->describe(); }
}  // namespace moult
