#pragma once
// The rules of the fleet's budget, once: permits, token bucket, minimum healthy, all in one atomic answer. Pure.
//
// The C++ form runs in process (LocalGate); the script that runs in a store is held equal to it by tests. `now` is the
// ledger's clock and the only one: in process it is monotonic, in a store it is the store's. Times are whole
// microseconds, so that both forms count the same.
//
// Permits:  taken by Acquire, ended by Release, Withdraw or their time to live, prolonged by Renew. Fencing tokens rise
//           for ever, also over a ledger that was lost: each is at least the time in microseconds, which is how a lease
//           that is put back there still says since when it is held.
// Bucket:   routine needs a whole token, urgent may go down to -burst. Debit (ungated, after the fact) goes deeper.
// Minimum:  those that serve over those that are wanted, fleet-wide, after this one. An instance that says nothing
//           more counts as wanted and not healthy, until it is forgotten; one asleep or stopped says wanted 0.
// Settings: whoever asks offers what it runs with. The newest master's are kept, and all are judged by them, until its
//           instance is forgotten.
// A clock that was set back never prolongs anything: what lies in the future is moved to now, leases to one TTL.
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "lease/fleet_policy.h"
#include "lease/fleet_view.h"
#include "lease/gate.h"
namespace moult {
// An `end` is by the ledger's clock. What arrives then or later was given up by its asker: nothing is taken or kept.
struct Heartbeat {
  std::string instance;
  unsigned wanted, healthy;
  StoreTime end = StoreTime::max();  // not looked at where it comes with an Acquire
};
// Idempotent by (holder, operation): a reply that was lost and is asked for again is not a second lease.
struct Acquire {
  AskId operation;
  std::string holder;  // one process: the instance's name with something that a restart changes
  Urgency urgency;
  StoreTime end;  // of the asker's budget, by the ledger's clock
  Heartbeat self;
  unsigned cost;  // how many fewer serve meanwhile: 0 where the successor serves first, else 1
};
struct Renew {
  std::string holder;
  std::uint64_t token;
  std::string instance = {};  // whose lease it is, should it be put back
};
struct Release {
  std::string holder;
  std::uint64_t token;
};
// The question's answer is no longer wanted, whether or not it was granted: nothing was recycled, so the bucket's token
// comes back with the permit.
struct Withdraw {
  std::string holder;
  AskId operation;
};
// Idempotent while an instance has one in hand at a time: a known instance's last operation is not debited again.
struct Debit {
  unsigned recycles;  // that went ahead ungated
  std::string instance = {};
  AskId operation = {};  // zero: not remembered
  StoreTime end = StoreTime::max();
};
struct Look {};  // changes nothing
using LedgerRequest = std::variant<Acquire, Renew, Release, Withdraw, Debit, Heartbeat, Look>;
struct Done {
  bool operator==(const Done&) const = default;
};
// Acquire: Granted or Refused. Renew: Done, or Refused late: it is lost. Look: the view.
// Release, Withdraw: Done. Debit, Heartbeat: Done, or Refused late.
using LedgerAnswer = std::variant<Granted, Refused, Done, FleetView>;

// What a rate of one an hour gives in a microsecond is one credit, so that whole rates are counted exactly.
inline constexpr double credit_per_token = 3.6e9;
struct Ledger {
  FleetSettings ruling;
  double credit = 0;
  StoreTime refilled_at{};  // zero: a new ledger, whose bucket is full
  std::uint64_t last_fencing_token = 0;
  std::vector<Permit> permits;         // at most `permits`, and a few urgent ones of their own holders
  std::vector<FleetMember> instances;  // at most most_instances; in no order that matters
};
struct LedgerStep {
  Ledger ledger;
  LedgerAnswer answer;
};
LedgerStep apply(Ledger, const LedgerRequest&, const FleetSettings& offered, StoreTime now);
}  // namespace moult
