#pragma once
// The question before every recycle: may the fleet afford it now? Asked by the master's supervisor, answered by
// LocalGate (the ledger in this process) or RedisGate (the ledger in a store), both seen through FallbackGate where a
// store decides. The rules themselves are in ledger.h.
#include <cstdint>
#include <functional>
#include <memory>
#include <variant>

#include "base/budget.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/urgency.h"
namespace moult {
enum class Refusal {
  lease_held,        // all permits are out
  no_tokens,         // the bucket is empty; an urgent one: overdrawn as far as it may be
  below_minimum,     // too few of the fleet would serve meanwhile
  late,              // the budget's end had passed: nothing was taken
  store_unreachable  // said by FallbackGate, never by a ledger
};
const char* name(Refusal);  // as in events and status: "lease_held"
struct Granted {
  std::uint64_t fencing_token;  // rises with every grant; zero: ungated
  bool gated;                   // false: it went ahead without the budget, and was debited
  Duration waited;              // from the question to the answer
  bool operator==(const Granted&) const = default;
};
struct Refused {
  Refusal why;
  Duration retry_after;  // sooner is useless; a hint, not a promise
  bool operator==(const Refused&) const = default;
};
using GateAnswer = std::variant<Granted, Refused>;

// A question and then its lease. Destroying it releases, asked or held: what was not answered yet never will be.
class Grant {
 public:
  virtual ~Grant() = default;  // a held one renews itself, at a third of its time to live or sooner
};

class Gate {
 public:
  virtual ~Gate() = default;
  // `answered` is called once, on the loop's thread, never from inside this call; by the budget's end. It may destroy
  // the Grant. A Grant whose answer was Refused holds nothing.
  virtual std::unique_ptr<Grant> acquire(AskId operation, Urgency, Budget,
                                         std::function<void(GateAnswer)> answered) = 0;

  // Told of each question that waits longer than a healthy store needs: for what, and by when it will be answered or
  // told anew. Never from inside acquire(); it may destroy the Grant. Set before the first question; null: nobody.
  using Waiting = std::function<void(AskId, Refusal why, MonotonicTime until)>;
  virtual void on_waiting(Waiting) {}  // a ledger that answers at once has nothing to tell
};
}  // namespace moult
