// The script in the store and the rules in C++ are the same: over 100,000 random questions, with the clock stepped both
// ways, each answer and the whole stored state after it agree to the last bit.
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <optional>
#include <vector>

#include "base/random.h"
#include "base/step.h"
#include "tests/contract/stored_ledger.h"

namespace moult {
namespace {
using namespace std::chrono_literals;
using std::chrono::microseconds;

// Questions that a fleet of masters with different settings might ask, and some that it had better not.
class RandomQuestions {
 public:
  explicit RandomQuestions(std::uint64_t seed) : random_{seed} {
    for (const char* name : {"a", "b", "c", "a name with spaces", "\n{}"}) offers_.push_back(offer_of(name));
    if (below(2)) now = StoreTime(1'790'000'000s);  // as wide as real ones
  }
  // The clock moves, and somebody asks.
  void next() {
    now += step();
    settings = offers_[below(5)];
    if (below(40) == 0) settings = offers_[0] = offer_of("a");  // its master was restarted
    request = question();
  }
  void was_answered(const LedgerAnswer& answer) {
    const auto* acquire = std::get_if<Acquire>(&request);
    const auto* granted = std::get_if<Granted>(&answer);
    if (acquire && granted) leases_.push_back({acquire->holder, acquire->operation, granted->fencing_token});
    if (leases_.size() > 8) leases_.erase(leases_.begin());
  }

  StoreTime now{1000h};
  FleetSettings settings;
  LedgerRequest request = Look{};

 private:
  struct Lease {
    std::string holder;
    AskId operation;
    std::uint64_t token;
  };
  unsigned below(unsigned n) { return static_cast<unsigned>(random_.next() % n); }
  template <class Each>
  Each one_of(std::initializer_list<Each> all) {
    return all.begin()[below(static_cast<unsigned>(all.size()))];
  }
  microseconds step() {
    switch (below(12)) {
      case 0: return 0us;
      case 1: return microseconds(1);
      case 2: return one_of<microseconds>({15s, 15s - 1us, 10min, 10min + 15s, 10min + 15s - 1us, 1h, 90min});
      case 3: return -microseconds(below(30'000'000));
      case 4: return below(8) ? 5s : -1h;
      case 5: return settings.policy.permits ? std::chrono::duration_cast<microseconds>(settings.policy.ttl) : 0us;
      default: return microseconds(below(6'000'000));
    }
  }
  FleetSettings offer_of(const char* name) {
    FleetPolicy policy;
    policy.permits = 1 + below(3);
    policy.ttl = one_of<Duration>({1s, 30s, 120s, 1500ms});
    policy.tokens_per_hour = one_of({1.0, 1.0 / 3, 60.0, 7.7, 1e-3, 3600.0});
    policy.rate_per = one_of({RatePer::worker, RatePer::worker, RatePer::fleet, RatePer::unlimited});
    policy.burst = 1 + below(3);
    policy.minimum_healthy_percent = one_of({0u, 25u, 50u, 67u, 100u});
    return {policy, name, now - microseconds(below(1'000'000'000)) + (below(5) ? 0s : 1h)};
  }
  std::string instance() { return offers_[below(5)].of; }
  StoreTime end() { return now + (below(6) ? 1s : below(2) ? 0s : -1s); }
  Heartbeat heartbeat() {
    const unsigned wanted = below(6);
    return {below(8) ? settings.of : instance(), wanted, below(8) ? below(wanted + 1) : wanted + 1, end()};
  }
  // Of a lease that was given, or nearly so.
  Lease lease() {
    if (leases_.empty()) return {"nobody", {1}, 1};
    Lease one = leases_[below(static_cast<unsigned>(leases_.size()))];
    if (below(8) == 0) one.holder = instance();
    if (below(8) == 0) one.token += below(3);
    if (below(8) == 0) one.token = static_cast<std::uint64_t>(now.time_since_epoch().count()) + below(1000);
    return one;
  }
  LedgerRequest question() {
    const Lease known = lease();
    switch (below(16)) {
      case 0: return Renew{known.holder, known.token, instance()};
      case 1: return Release{known.holder, known.token};
      case 2: return Withdraw{known.holder, known.operation};
      case 3: return Debit{below(4), instance(), AskId{below(3)}, end()};
      case 4: return below(20) ? Debit{below(4)} : Debit{1'000'000};
      case 5: return Look{};
      case 6: return Acquire{known.operation, known.holder, Urgency::routine, end(), heartbeat(), below(2)};
      case 7:
      case 8:
      case 9: return heartbeat();
      default: return fresh_acquire();
    }
  }
  LedgerRequest fresh_acquire() {
    Heartbeat self = heartbeat();
    const auto urgency = one_of({Urgency::routine, Urgency::routine, Urgency::hard_limit, Urgency::pressure});
    const std::string holder = self.instance + one_of({"#1", "#2", ""});
    return Acquire{{++operations_}, holder, urgency, end(), std::move(self), below(2)};
  }

  Random random_;
  std::vector<FleetSettings> offers_;
  std::vector<Lease> leases_;
  std::uint64_t operations_ = 0;
};

FleetHealth sums(const Ledger& ledger) {
  FleetHealth sum;
  for (const FleetMember& member : ledger.instances) {
    sum.wanted += member.wanted;
    if (!vanished(member, ledger.refilled_at)) sum.healthy += std::min(member.healthy, member.wanted);
  }
  return sum;
}

struct Asked {
  LedgerRequest request;
  StoreTime now;
  LedgerAnswer answer;
  std::string state;
  FleetHealth sums;
  std::size_t count;
};
constexpr int at_once = 50;  // questions under way, to be quick: none depends on the store's answers

void compare(LedgerInRedis& store, const Asked& asked) {
  const LedgerReply reply = store.receive(asked.request, asked.now);
  ASSERT_EQ(reply.answer, asked.answer);
  const StoredLedger kept = receive_stored_ledger(store.client());
  if (!std::holds_alternative<Look>(asked.request)) {
    ASSERT_EQ(reply.ttl, kept.ledger.ruling.policy.ttl);
    ASSERT_EQ(reply.tokens, kept.ledger.credit / credit_per_token);
  }
  ASSERT_EQ(whole_state(kept.ledger), asked.state);
  ASSERT_EQ(kept.sums, asked.sums);
  ASSERT_EQ(kept.count, asked.count);
}

void run(const std::string& program, std::uint64_t seed, int questions, std::array<int, 12>& kinds) {
  LedgerInRedis store(program);
  RandomQuestions random(seed);
  Ledger ledger;
  std::vector<Asked> under_way;
  for (int i = 1; i <= questions; ++i) {
    random.next();
    LedgerStep step = apply(std::move(ledger), random.request, random.settings, random.now);
    ledger = std::move(step.ledger);
    random.was_answered(step.answer);
    const auto* refused = std::get_if<Refused>(&step.answer);
    ++kinds.at(refused ? 4 + static_cast<std::size_t>(refused->why) : step.answer.index());
    store.send(random.request, random.settings, random.now);
    ask_for_stored_ledger(store.client(), LedgerInRedis::fleet);
    under_way.push_back({random.request, random.now, std::move(step.answer), whole_state(ledger), sums(ledger),
                         ledger.instances.size()});
    if (i % at_once && i != questions) continue;
    for (const Asked& asked : under_way) {
      SCOPED_TRACE("question " + std::to_string(i - static_cast<int>(&under_way.back() - &asked)) + ", kind " +
                   std::to_string(asked.request.index()));
      compare(store, asked);
      if (testing::Test::HasFatalFailure()) return;
    }
    under_way.clear();
  }
}

class LedgerScriptAndRules : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Of, LedgerScriptAndRules, testing::Values("redis-server", valkey_server()),
                         [](const auto& program) { return program.index == 0 ? "Redis" : "Valkey"; });

TEST_P(LedgerScriptAndRules, AgreeInEveryAnswerAndTheWholeStateOverAHundredThousandRandomQuestions) {
  const auto began = std::chrono::steady_clock::now();
  std::array<int, 12> kinds{};
  for (std::uint64_t seed = 1; seed <= 200 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run(GetParam(), seed, 500, kinds);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::cout << "100,000 questions in " << took.count() << " s: " << kinds[0] << " granted, " << kinds[2] << " done, "
            << kinds[3] << " looks; refused:";
  for (const Refusal each : {Refusal::lease_held, Refusal::no_tokens, Refusal::below_minimum, Refusal::late}) {
    std::cout << " " << kinds[4 + static_cast<std::size_t>(each)] << " " << name(each);
    EXPECT_GT(kinds[4 + static_cast<std::size_t>(each)], 1000) << "hardly ever " << name(each);
  }
  std::cout << "\n";
  EXPECT_GT(kinds[0], 1000) << "hardly ever granted";
}
}  // namespace
}  // namespace moult
