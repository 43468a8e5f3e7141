#pragma once
// One suite for every form of the ledger. A form is a LedgerSubject; ledger_forms() names them all.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lease/ledger.h"
#include "tests/contract/ledger_in_redis.h"
#include "tests/contract/ledger_subject.h"
namespace moult {
struct LedgerForm {
  std::string name;
  std::function<std::unique_ptr<LedgerSubject>()> make;
};

class LedgerInProcess : public LedgerSubject {
 public:
  LedgerAnswer ask(const LedgerRequest& request, const FleetSettings& offered, StoreTime now) override {
    LedgerStep step = apply(std::move(ledger), request, offered, now);
    ledger = std::move(step.ledger);
    return step.answer;
  }
  void forget_everything() override { ledger = {}; }
  Ledger ledger;
};

inline std::vector<LedgerForm> ledger_forms() {
  return {{"InProcess", [] { return std::make_unique<LedgerInProcess>(); }},
          {"InRedis", [] { return std::make_unique<LedgerInRedis>(); }},
          {"InValkey", [] { return std::make_unique<LedgerInRedis>(valkey_server()); }}};
}

// What a test says: a fleet of instances of four workers, each instance its own holder.
class LedgerContract : public testing::TestWithParam<LedgerForm> {
 protected:
  LedgerAnswer ask(const LedgerRequest& request) { return subject->ask(request, {policy}, now); }
  // Every question of a test is a new operation, unless it names one.
  LedgerAnswer acquire(const std::string& who, Urgency urgency = Urgency::routine, AskId operation = {}) {
    if (!operation) operation = AskId{++operations};
    return ask(Acquire{operation, who, urgency, now + budget, {who, 4, 4}, cost});
  }
  FleetView look() { return std::get<FleetView>(ask(Look{})); }
  LedgerAnswer heartbeat(const std::string& who, unsigned wanted, unsigned healthy) {
    return ask(Heartbeat{who, wanted, healthy});
  }
  static const Granted* granted(const LedgerAnswer& answer) { return std::get_if<Granted>(&answer); }
  static std::uint64_t token(const LedgerAnswer& answer) {
    EXPECT_TRUE(granted(answer)) << "not granted";
    return granted(answer) ? granted(answer)->fencing_token : 0;
  }
  static testing::AssertionResult refused(const LedgerAnswer& answer, Refusal why) {
    const auto* refusal = std::get_if<Refused>(&answer);
    if (!refusal) return testing::AssertionFailure() << "not refused";
    if (refusal->why != why)
      return testing::AssertionFailure() << "refused for reason " << static_cast<int>(refusal->why);
    return testing::AssertionSuccess();
  }
  static Duration hint(const LedgerAnswer& answer) {
    const auto* refusal = std::get_if<Refused>(&answer);
    EXPECT_TRUE(refusal) << "not refused";
    return refusal ? refusal->retry_after : Duration::zero();
  }

  std::unique_ptr<LedgerSubject> subject = GetParam().make();
  FleetPolicy policy{1, std::chrono::seconds(120), 3600, RatePer::fleet, 100, 0};  // a test narrows what it is about
  StoreTime now{std::chrono::hours(1000)};
  std::chrono::microseconds budget = std::chrono::seconds(1);
  unsigned cost = 1;
  std::uint64_t operations = 0;
};
inline std::string ledger_form_name(const testing::TestParamInfo<LedgerForm>& form) { return form.param.name; }
}  // namespace moult
