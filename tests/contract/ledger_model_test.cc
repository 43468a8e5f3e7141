// Random fleets in random weather, with the clock stepped both ways. What must hold whatever was asked is counted here
// from the answers alone, by other means than the ledger's.
#include <algorithm>
#include <map>

#include "base/random.h"
#include "tests/contract/ledger_contract.h"

namespace moult {
namespace {
using namespace std::chrono_literals;

struct HeldLease {
  std::string holder;
  AskId operation;
  std::uint64_t token;
  bool urgent;
  StoreTime ends;  // by what its holder knows
};

class Fleet {
 public:
  Fleet(LedgerSubject& ledger, std::uint64_t seed) : ledger_(ledger), random_{seed} {
    policy_.permits = 1 + below(3);
    policy_.burst = 1 + below(3);
    policy_.tokens_per_hour = 1 + below(60);
    policy_.rate_per = RatePer::fleet;
    policy_.minimum_healthy_percent = 25 * below(4);
  }
  void step() {
    now_ += std::chrono::microseconds(random_.next() % (below(10) ? 20'000'000 : 300'000'000));
    std::erase_if(held_, [&](const HeldLease& lease) { return now_ >= lease.ends; });
    switch (below(8)) {
      case 0: return renew();
      case 1: return release();
      case 2: return say_health();
      case 3: return ask_again();
      default: return ask_for_one();
    }
  }
  long grants() const { return grants_; }

 private:
  unsigned below(unsigned n) { return static_cast<unsigned>(random_.next() % n); }
  std::string somebody() { return std::string(1, static_cast<char>('a' + below(5))); }
  LedgerAnswer ask(const LedgerRequest& request) { return ledger_.ask(request, {policy_}, now_); }

  void say_health() {
    const std::string who = somebody();
    const unsigned wanted = below(6);
    ask(Heartbeat{who, wanted, wanted ? below(wanted + 1) : 0});
  }
  void renew() {
    if (held_.empty()) return;
    HeldLease& lease = held_[below(static_cast<unsigned>(held_.size()))];
    ASSERT_TRUE(std::holds_alternative<Done>(ask(Renew{lease.holder, lease.token}))) << "a living lease was lost";
    lease.ends = now_ + std::chrono::duration_cast<std::chrono::microseconds>(policy_.ttl);
  }
  void release() {
    if (held_.empty()) return;
    const auto lease = held_.begin() + below(static_cast<unsigned>(held_.size()));
    ask(Release{lease->holder, lease->token});
    held_.erase(lease);
  }
  void ask_again() {
    if (held_.empty()) return;
    const HeldLease lease = held_[below(static_cast<unsigned>(held_.size()))];
    const auto answer =
        ask(Acquire{lease.operation, lease.holder, Urgency::routine, now_ - 1s, {lease.holder, 3, 3}, 1});
    const auto* same = std::get_if<Granted>(&answer);
    ASSERT_TRUE(same && same->fencing_token == lease.token) << "asked twice, answered differently";
  }
  void ask_for_one() {
    const std::string who = somebody();
    const bool urgent = below(4) == 0;
    const AskId operation{++operations_};
    const auto urgency = urgent ? Urgency::hard_limit : Urgency::routine;
    const auto answer = ask(Acquire{operation, who, urgency, now_ + 1s, {who, 4, 1 + below(4)}, below(2)});
    const auto* grant = std::get_if<Granted>(&answer);
    if (!grant) return;
    ++grants_;
    ASSERT_GT(grant->fencing_token, last_token_) << "fencing tokens must rise";
    last_token_ = grant->fencing_token;
    const auto in_the_way =
        std::ranges::count_if(held_, [&](const HeldLease& lease) { return !urgent || lease.holder != who; });
    ASSERT_LT(in_the_way, static_cast<std::ptrdiff_t>(policy_.permits)) << "more leases than permits";
    held_.push_back({who, operation, last_token_, urgent,
                     now_ + std::chrono::duration_cast<std::chrono::microseconds>(policy_.ttl)});
    check_rate(urgent);
  }
  // In every stretch of time that ends here: no more than its rate gives, plus the burst, plus the overdraft.
  void check_rate(bool urgent) {
    granted_at_.push_back(now_);
    const double overdraft = urgent ? policy_.burst : 0;
    const std::size_t first = granted_at_.size() > 200 ? granted_at_.size() - 200 : 0;
    for (std::size_t i = first; i < granted_at_.size(); ++i) {
      const double hours = static_cast<double>((now_ - granted_at_[i]).count()) / 3.6e9;
      const double most = policy_.burst + overdraft + hours * policy_.tokens_per_hour + 1e-6;
      ASSERT_LE(static_cast<double>(granted_at_.size() - i), most) << "over " << hours << " h";
    }
  }

  LedgerSubject& ledger_;
  Random random_;
  FleetPolicy policy_;
  StoreTime now_{1000h};
  std::vector<HeldLease> held_;
  std::vector<StoreTime> granted_at_;
  std::uint64_t operations_ = 0, last_token_ = 0;
  long grants_ = 0;
};

using LedgerModel = LedgerContract;
INSTANTIATE_TEST_SUITE_P(Ledger, LedgerModel, testing::ValuesIn(ledger_forms()), ledger_form_name);

TEST_P(LedgerModel, HoldsItsInvariantsOverAHundredThousandRandomOperations) {
  long grants = 0;
  for (std::uint64_t seed = 1; seed <= 100 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto ledger = GetParam().make();
    Fleet fleet(*ledger, seed);
    for (int i = 0; i < 1000 && !HasFatalFailure(); ++i) fleet.step();
    grants += fleet.grants();
  }
  EXPECT_GT(grants, 5000) << "the model hardly asks";
}
}  // namespace
}  // namespace moult
