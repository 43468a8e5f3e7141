#pragma once
// What must hold after every step of the pool, told from outside: from the states before and after, the
// event and the actions. Shares no code with master/.
#include <map>
#include <set>
#include <vector>
#include "master/pool/held_back.h"
#include "master/pool/pool.h"
namespace moult {
using namespace std::chrono_literals;
// A storm that never meets a case proves nothing about it.
struct SeenCases {
  Duration longest_turn{}, longest_lease{};
  long together = 0, alone = 0, in_place = 0, urgent_beside_a_turn = 0, third_waited = 0;
  long refills_from_candidate = 0, wakes_with_new_code = 0, stops_with_heir = 0;
};
class PoolInvariants {
 public:
  explicit PoolInvariants(const PoolPolicy& policy) : policy_(policy) {}
  void check(const Pool& before, const PoolEvent&, const Pool& after, const std::vector<PoolAction>&,
             MonotonicTime now);
  [[noreturn]] void fail(const char* what) const;
  std::set<std::uint64_t> lost;  // generations whose fork server is gone
  unsigned seed = 0;
  static inline SeenCases seen;  // over all seeds

 private:
  struct Step {
    const Pool& before;
    const PoolEvent& event;
    const Pool& after;
    const std::vector<PoolAction>& actions;
    MonotonicTime now;
  };
  void slots(const Step&) const;
  void no_lost_wake(const Step&) const;
  void generations(const Step&);
  void spares(const Step&) const;
  bool spares_wait_for(const Step&) const;
  void turns(const Step&) const;
  void routine_begins_in_peace(const Step&) const;
  void waits_explain_themselves(const Step&) const;
  void recycles_are_told(const Step&) const;
  void urgent_waits_for_reasons_only(const Step&);
  void retire_at_once(const Step&) const;
  void retires(const Step&) const;
  void leases(const Step&);
  void look_for_cases(const Step&) const;
  void backoff_before_the_next_question(const Step&);
  void turns_end(const Step&);
  void stop(const Step&) const;

  const PoolPolicy& policy_;
  long step_ = 0;
  std::map<std::uint64_t, MonotonicTime> leases_;         // question or lease -> answered or asked at
  std::map<std::uint64_t, MonotonicTime> turn_since_;     // outgoing worker -> its turn was granted
  std::map<unsigned, MonotonicTime> replacement_failed_;  // slot -> beside an old one that serves
  std::map<unsigned, std::uint64_t> boot_failed_;         // slot -> the generation whose boot failed in it last
  RefusedUntil refused_;
};
}  // namespace moult
