#pragma once
// What a RedisGate and its grants share: the ledger in the store, and all that is said to it besides questions. Part of
// redis_gate.cc; nobody else includes it.
#include <array>
#include <list>
#include <optional>
#include <set>
#include <utility>

#include "base/budget_timer.h"
#include "base/random.h"
#include "lease/fair_hint.h"
#include "lease/redis_gate.h"
#include "lease/store_ledger.h"
namespace moult {
class Holder {  // of a lease, or on its way to one
 public:
  virtual ~Holder() = default;
  virtual void connected() = 0;
};

class RedisGate::Core {
 public:
  Core(uv_loop_t*, RedisGateOptions, std::function<Capacity()>);

  uv_loop_t* loop() const { return loop_; }
  MonotonicTime now() const { return monotonic_now(loop_); }
  StoreLedger& ledger() { return ledger_; }
  void close();  // the gate is gone; leases that are still held live on
  bool closed() const { return !capacity_; }
  const std::string& holder() const { return holder_; }
  const std::string& instance() const { return instance_; }
  Duration ttl() const { return ttl_; }  // as last heard

  AskId question_begins();
  void question_is_over();  // after its answer was told, so that the capacity shows what it allowed
  Acquire question(AskId, Urgency, StoreTime end) const;
  // Of every answer, what the status shows; the reply, if it is one.
  const LedgerReply* heard(const StoreLedger::Answer&);
  Refused hint(const Refused& refused, Urgency urgency, double tokens) {
    return fair_hint(refused, urgency, tokens, random_);
  }
  void count(const GateAnswer&);
  void lost_lease();

  // Said until it is heard, but for no longer than a lease lives.
  void release(std::uint64_t token);
  void withdraw(AskId, Budget question);

  void beat();
  void capacity_changed();
  void leave(Budget, std::function<void()> gone);
  void debit(unsigned recycles);
  GateDescription describe() const;
  std::set<Holder*> holders;  // that hold a lease

 private:
  struct Withdrawn {
    AskId operation;
    MonotonicTime end;  // of its question: until then it may still be granted
  };
  struct Payment {
    AskId operation;
    unsigned recycles;
    std::unique_ptr<RedisCall> call;  // none: it failed; the next heartbeat asks again
  };
  bool counts();
  LedgerRequest word(const StoreClock&, Budget) const;
  bool is_missed(const LedgerReply&) const;
  void say_farewell(Budget);
  void in_trouble(const std::string& why, bool refused);
  void notice_silence();
  void connected();
  void errand(LedgerRequest);
  void withdraw_again();
  void pay();
  void paid(const StoreLedger::Answer&);

  uv_loop_t* loop_;
  FleetPolicy policy_;
  std::string instance_;
  std::function<void(const StoreNews&)> news_;
  std::function<void()> lease_lost_;
  Random random_;
  std::string holder_;
  std::function<Capacity()> capacity_;
  Duration ttl_;
  StoreLedger ledger_;
  std::uint64_t operations_ = 0;
  unsigned asking_ = 0;                            // questions without an answer
  bool counts_ = false;                            // the fleet counts on us: one has served, now or in an earlier life
  bool leaving_ = false;                           // for good
  std::function<void()> gone_;                     // once the fleet knows
  bool beat_owed_ = false;                         // a heartbeat stood back for them
  bool said_wanted_ = false, said_whole_ = false;  // in the last heartbeat: more than none; as many as are wanted
  std::optional<MonotonicTime> silent_since_;      // the first heartbeat since the store's last reply
  bool joined_ = false;
  MonotonicTime in_trouble_since_{};
  GateDescription description_;
  std::uint64_t owed_ = 0;
  std::optional<Payment> payment_;
  std::list<Withdrawn> withdrawn_;
  std::list<std::unique_ptr<RedisCall>> errands_;
  std::unique_ptr<RedisCall> heartbeat_, farewell_;
  BudgetTimer timer_;
};
}  // namespace moult
