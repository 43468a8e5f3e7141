#pragma once
// The ledger that lies in a store, asked over the connection: one question is one call of the script, under its Budget.
// Owned by RedisGate. On the loop's thread.
//
// Every question may be asked again after a lost connection: the rules make each of them idempotent (ledger.h). A store
// that does not know the script is given it, within the same budget. The store's clock is checked against every answer
// and learnt anew where it is another than we thought; a question that came `late` only for that is asked again.
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "lease/fleet_view.h"
#include "lease/ledger_script.h"
#include "lease/redis_connection.h"
namespace moult {
class StoreLedger {
 public:
  // Made when it is written, in the clock of the store that will read it. It only makes it: no calls from there.
  using Question = std::function<LedgerRequest(const StoreClock&)>;
  using Answer = std::variant<LedgerReply, RedisFailure>;
  using Done = std::function<void(Answer)>;

  // `connected`: as RedisConnection has it.
  StoreLedger(uv_loop_t*, RedisOptions, std::string fleet, const FleetPolicy&, std::string instance,
              std::function<void()> connected);

  // `done` is called once, by the budget's end, never from inside; destroying the handle cancels.
  [[nodiscard]] std::unique_ptr<RedisCall> ask(Question, Budget, Done done);
  RedisDescription describe() const { return connection_.describe(); }

 private:
  class Call;
  FleetSettings settings(const StoreClock&) const;
  std::string in_words(const RedisError&) const;

  uv_loop_t* loop_;
  std::string fleet_, instance_;
  FleetPolicy policy_;
  MonotonicTime started_;
  RedisConnection connection_;
};
}  // namespace moult
