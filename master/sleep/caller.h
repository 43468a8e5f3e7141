#pragma once
// Makes the scheduled calls: the shell of schedule.h. Asks the store for those of the fleet, delivers them through the
// internal door, and tells how each ended. Made and owned by Instance, on the loop's thread. One call, one budget (its
// `timeout`), from when it may begin: claim, wake, connect and answer draw on it.
//
// The app may be asleep: whoever wakes it hears on_call_due when a call begins to wait while nobody serves, and asks
// next_call_due() before it lets anybody sleep. A call in hand is due until it has ended.
#include <uv.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/budget_timer.h"
#include "base/machine.h"
#include "lease/call_claims.h"
#include "master/pool/worker_observer.h"
#include "master/sleep/call_delivery.h"
#include "master/sleep/holds_awake.h"
namespace moult {
// For how long after its due time a claim is remembered: an instance that stood still for longer makes no call up.
// Choices: a thousand periods, so that a schedule leaves no more than some thousand keys in the store.
Duration claim_kept(const When&, WallTime due);

struct CallerOptions {
  SchedulePolicy policy;
  std::string door;                // the internal door's socket
  std::optional<IdlePolicy> idle;  // to say what holds the app awake; none: that is not known here
};
struct CallerParts {
  std::function<bool()> somebody_serves;
  std::function<void(const EndedCall&)> told;  // of each that ended, before it is shown anywhere
};

class Caller final : public WorkerObserver {
 public:
  Caller(uv_loop_t*, CallerOptions, CallerParts);
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  // Before start(); needed where an entry has scope `fleet`.
  void claim_with(std::unique_ptr<CallClaims> claims) { claims_ = std::move(claims); }
  void start();  // what was due before is not made up for

  // --- for whoever lets the app sleep, and wakes it. Never called from inside a call of theirs but run().
  MonotonicTime next_call_due() const;
  bool call_waits() const;  // one is in hand: while nobody serves, it waits for a wake
  std::function<void()> on_call_due = [] {};
  std::function<void()> on_no_call_waits = [] {};  // the last of those that were waited for has ended

  // Makes the call now, beside its due times. `ended` is called once, later. Refused while it is in hand already.
  Result<void> run(const std::string& name, std::function<void(const EndedCall&)> ended);
  // No call begins any more; those that were sent are waited for.
  void stopping();
  // What is still in hand has ended with the workers. `gone` is called when the store knows, or at the budget's end.
  void leave(Budget, std::function<void()> gone);
  void lost(const LostCall&);  // CallClaims says so

  ScheduleDescription describe() const;
  // A line for each entry that keeps the app awake for ever; and one if no call can be made at all.
  std::vector<std::string> warnings() const;

  void worker_serving(const Worker&, pid_t) override;
  void stop_finished(int) override;

 private:
  struct InHand {
    WallTime due{};
    Budget budget{};
    MonotonicTime begun{};
    Duration late{};
    bool by_hand = false;
    bool told_due = false;  // on_call_due was called for it
    std::optional<CallClaim> claim;
    std::unique_ptr<RedisCall> asking;
    std::unique_ptr<CallDelivery> delivery;
    std::function<void(const EndedCall&)> run_by;
  };

  void perform(const Claim&);
  void perform(const Deliver&);
  InHand& take(const std::string& name, WallTime due);
  void claimed(const std::string& name, const Result<ClaimAnswer>&);
  void delivered(const std::string& name, const DeliveryEnd&);
  void end(const std::string& name, const ScheduleEvent&, DeliveryEnd how);
  void tell(const EndedCall&);
  void look_later();
  const ScheduledCall& entry(const std::string& name) const;
  const Call* call(const std::string& name) const;
  MonotonicTime now() const { return monotonic_now(loop_); }

  uv_loop_t* loop_;
  const CallerOptions options_;
  const CallerParts parts_;
  std::vector<HoldsAwake> holds_awake_;
  bool stopping_ = false;
  std::map<std::string, InHand> in_hand_;
  std::map<std::string, EndedCall> last_;
  std::array<std::uint64_t, call_outcomes> outcomes_{};
  std::uint64_t errors_ = 0;
  std::unique_ptr<CallClaims> claims_;
  BudgetTimer look_timer_;  // when a claim of another's is lost, if it is
  Machine<Schedule, ScheduleEvent, ScheduleAction, SchedulePolicy, Clocks> schedule_;
};
}  // namespace moult
