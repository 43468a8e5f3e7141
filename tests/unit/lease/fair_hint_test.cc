// Hints that are spread, and what a fleet makes of them: three equal instances share what the ledger gives.
#include "lease/fair_hint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "lease/ledger.h"

namespace moult {
namespace {
using namespace std::chrono_literals;

TEST(FairHint, ATokenIsWaitedForALittleLongerThanItTakes) {
  Random random{1};
  Duration least = 1h, most{};
  for (int i = 0; i < 1000; ++i) {
    // Three quarters are missing and take 6 s, so a whole one takes 8 s.
    const Refused said = fair_hint({Refusal::no_tokens, 6s}, Urgency::routine, 0.25, random);
    ASSERT_EQ(said.why, Refusal::no_tokens);
    least = std::min(least, said.retry_after), most = std::max(most, said.retry_after);
  }
  EXPECT_GE(least, 6s);
  EXPECT_LT(least, 6100ms);
  EXPECT_GT(most, 6900ms);
  EXPECT_LE(most, 7s);
}

TEST(FairHint, WhereTokensComeFastTheSpreadIsAPartOfTheirTime) {
  Random random{1};
  for (int i = 0; i < 1000; ++i)
    ASSERT_LE(fair_hint({Refusal::no_tokens, 8ms}, Urgency::routine, 0, random).retry_after, 9ms);
  for (const double tokens : {1.0, 1 - 1e-12, -1e9})
    ASSERT_LE(fair_hint({Refusal::no_tokens, 1us}, Urgency::routine, tokens, random).retry_after, 1s + 1us);
}

TEST(FairHint, AHeldLeaseIsAskedForAtAnyTimeFromAFifthOfItsHintOn) {
  Random random{1};
  Duration least = 1h, most{};
  for (int i = 0; i < 1000; ++i) {
    const Refused said = fair_hint({Refusal::lease_held, 5s}, Urgency::routine, 2, random);
    least = std::min(least, said.retry_after), most = std::max(most, said.retry_after);
  }
  EXPECT_GE(least, 1s);
  EXPECT_LT(least, 1100ms);
  EXPECT_GT(most, 4900ms);
  EXPECT_LE(most, 5s);
}

TEST(FairHint, UrgentOnesAndOtherRefusalsAreLeftAsTheyAre) {
  Random random{1};
  for (const Refusal why : {Refusal::lease_held, Refusal::no_tokens, Refusal::below_minimum})
    for (const Urgency urgency : {Urgency::hard_limit, Urgency::pressure})
      EXPECT_EQ(fair_hint({why, 200ms}, urgency, 0, random), (Refused{why, 200ms}));
  for (const Refusal why : {Refusal::below_minimum, Refusal::late, Refusal::store_unreachable})
    EXPECT_EQ(fair_hint({why, 5s}, Urgency::routine, 0, random), (Refused{why, 5s}));
}

// Instances that always want to replace a worker, in virtual time. The first is the nearest to the store, by a
// microsecond.
constexpr std::size_t instances = 3;
struct Shares {
  std::array<int, instances> granted{};
  Duration took{};
};
class Rivals {
 public:
  Rivals(Duration token_takes, Duration replacing, std::uint64_t seed)
      : settings_{{.permits = 1,
                   .tokens_per_hour = Duration(1h) / (token_takes * 1.0),
                   .rate_per = RatePer::fleet,
                   .burst = 2,
                   .minimum_healthy_percent = 0}},
        replacing_(std::chrono::duration_cast<std::chrono::microseconds>(replacing)) {
    for (std::size_t i = 0; i < instances; ++i) rivals_[i] = {start, std::nullopt, Random{seed + i}};
  }
  Shares run(int grants) {
    Shares shares;
    for (int done = 0; done < grants;) {
      const std::size_t who = next();
      if (turn(who)) ++shares.granted[who], ++done;
    }
    shares.took = now_ - start;
    return shares;
  }

 private:
  static constexpr StoreTime start{1000h};
  struct Rival {
    StoreTime next;
    std::optional<std::uint64_t> token;
    Random random{};
  };
  std::size_t next() const {
    return static_cast<std::size_t>(std::ranges::min_element(rivals_, {}, &Rival::next) - rivals_.begin());
  }
  LedgerAnswer ask(const LedgerRequest& request) {
    LedgerStep step = apply(std::move(ledger_), request, settings_, now_);
    ledger_ = std::move(step.ledger);
    return step.answer;
  }
  bool turn(std::size_t who) {
    Rival& rival = rivals_[who];
    now_ = std::max(now_, rival.next);
    const std::string name(1, static_cast<char>('a' + who));
    if (rival.token) ask(Release{name, *std::exchange(rival.token, std::nullopt)});
    const LedgerAnswer said = ask(Acquire{{++operations_}, name, Urgency::routine, now_ + 1s, {name, 4, 4}, 1});
    if (const auto* granted = std::get_if<Granted>(&said)) {
      rival.token = granted->fencing_token;
      rival.next = now_ + replacing_;
      return true;
    }
    const double tokens = ledger_.credit / credit_per_token;
    const Refused refused = fair_hint(std::get<Refused>(said), Urgency::routine, tokens, rival.random);
    rival.next = now_ + std::chrono::ceil<std::chrono::milliseconds>(refused.retry_after);  // a loop's timer
    rival.next += std::chrono::microseconds(who);
    return false;
  }

  FleetSettings settings_;
  std::chrono::microseconds replacing_;
  std::array<Rival, instances> rivals_;
  Ledger ledger_;
  StoreTime now_ = start;
  std::uint64_t operations_ = 0;
};

// Of 3,000, each third has a standard deviation of 26; the seeds are given, so the outcome is always the same.
TEST(FairHint, ThreeEqualInstancesHaveEqualSharesAndNoTokenIsLeftLying) {
  for (const Duration token_takes : {Duration(3s), Duration(10s), Duration(20min)})
    for (const Duration replacing : {Duration(100ms), Duration(1s)}) {
      const Shares shares = Rivals(token_takes, replacing, 7).run(3000);
      SCOPED_TRACE(std::to_string(token_takes / 1ms) + " ms a token, " + std::to_string(replacing / 1ms) + " ms each");
      for (const int granted : shares.granted) EXPECT_NEAR(granted, 1000, 130);
      EXPECT_LT(shares.took, token_takes * 3000 * 1.01);
    }
}
}  // namespace
}  // namespace moult
