#pragma once
// The gate of a fleet that shares a store: asks the ledger there, and tells it of this instance. Made by Instance,
// asked through FallbackGate. On the loop's thread; the store is first spoken to in the loop's next turn.
//
// A question whose store does not answer is Refused store_unreachable by its budget's end: what that means is for
// FallbackGate to decide. Nothing that was asked stays behind: a lease whose answer was lost, came too late, or for a
// Grant that is gone, is withdrawn with its token, also after the question's end, should the store wake up only then.
// A held lease is renewed as often as heartbeats are sent, or at a third of its time to live (by the settings that
// rule) where that is shorter, and at once after a reconnect: so a store that forgot, with the connection or without
// it, has its leases back. For so long it may give a lease away that is still held. This instance's {wanted, healthy}
// is told every heartbeat_every, and at once when wanted becomes or leaves 0 and when all that are wanted serve; but
// not beside a question, which tells it too. The capacity must show whom a grant takes away when `answered` returns.
// Until one of its workers has served it tells nothing and only looks, so that an instance that cannot boot is not
// missed; unless the fleet knows it of an earlier life that did not end in order.
// What went ungated meanwhile is debited on reconnect: once, whatever is lost on the way.
#include <functional>
#include <memory>
#include <string>

#include "lease/capacity.h"
#include "lease/fleet_view.h"
#include "lease/gate.h"
#include "lease/gate_description.h"
#include "lease/redis_connection.h"
#include "lease/store_news.h"
namespace moult {
inline constexpr std::size_t most_errands =
    256;  // releases and withdrawals under way; beyond, leases end by themselves
inline constexpr std::uint64_t most_owed = 1'000'000;

struct RedisGateOptions {
  RedisOptions store;    // its seed must differ from process to process: the holder's name is drawn from it
  std::string fleet;     // --fleet-name: instances of one name share one ledger
  std::string instance;  // unlike every other instance's of the fleet
  FleetPolicy policy;
  // Told when the store is joined, is in trouble (once), and is well again: also while nobody asks, within two
  // heartbeats.
  std::function<void(const StoreNews&)> news = {};
  // A lease that is held is ours no more: its holder goes on, and others may be granted.
  std::function<void()> lease_lost = {};
};

class RedisGate final : public Gate {
 public:
  RedisGate(uv_loop_t*, RedisGateOptions, std::function<Capacity()>);
  ~RedisGate() override;
  RedisGate(const RedisGate&) = delete;
  RedisGate& operator=(const RedisGate&) = delete;

  // A Grant may outlive the gate, but not the loop; a question outliving it is never answered. The operation ids that
  // the store sees are the gate's own, new with each question: so what withdraws one never meets another.
  std::unique_ptr<Grant> acquire(AskId, Urgency, Budget, std::function<void(GateAnswer)> answered) override;

  void capacity_changed();                         // somebody sleeps, stops or wakes: told at once
  void leave(Budget, std::function<void()> gone);  // as FleetGate has it; nothing is told after it
  void debit(unsigned recycles);                   // that went ahead ungated
  [[nodiscard]] std::unique_ptr<RedisCall> look(Budget, std::function<void(Result<FleetView>)> done);
  GateDescription describe() const;

 private:
  class Core;
  class RedisGrant;
  std::shared_ptr<Core> core_;
};
}  // namespace moult
