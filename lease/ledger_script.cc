#include "lease/ledger_script.h"

#include <openssl/sha.h>

#include <charconv>
#include <cstdio>

#include "base/step.h"
namespace moult {
namespace {
// The rules take `now` in whole microseconds.
constexpr std::string_view store_time =
    "local time = redis.call('TIME')\n"
    "local now = time[1] * 1000000 + time[2]\n";

std::string text(StoreTime time) { return std::to_string(time.time_since_epoch().count()); }
std::string text(AskId id) { return std::to_string(id.value); }
std::string text(std::uint64_t number) { return std::to_string(number); }
std::string exact_text(double number) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.17g", number);
  return digits;
}

const char* text(RatePer per) {
  switch (per) {
    case RatePer::worker: return "worker";
    case RatePer::fleet: return "fleet";
    case RatePer::unlimited: return "unlimited";
  }
  return "";
}

std::vector<std::string> words(const LedgerRequest& request) {
  using Words = std::vector<std::string>;
  return std::visit(Match{[](const Acquire& a) -> Words {
                            return {"acquire",
                                    text(a.operation),
                                    a.holder,
                                    a.urgency == Urgency::routine ? "routine" : "urgent",
                                    text(a.end),
                                    a.self.instance,
                                    text(a.self.wanted),
                                    text(a.self.healthy),
                                    text(a.cost)};
                          },
                          [](const Renew& r) -> Words {
                            return {"renew", r.holder, text(r.token), r.instance};
                          },
                          [](const Release& r) -> Words {
                            return {"release", r.holder, text(r.token)};
                          },
                          [](const Withdraw& w) -> Words {
                            return {"withdraw", w.holder, text(w.operation)};
                          },
                          [](const Debit& d) -> Words {
                            return {"debit", text(d.recycles), d.instance, text(d.operation), text(d.end)};
                          },
                          [](const Heartbeat& h) -> Words {
                            return {"heartbeat", h.instance, text(h.wanted), text(h.healthy), text(h.end)};
                          },
                          [](const Look&) -> Words { return {"look"}; }},
                    request);
}
}  // namespace

LedgerScript script_with(std::string_view prelude) {
  LedgerScript script{std::string(prelude) + std::string(ledger_rules), {}};
  unsigned char digest[SHA_DIGEST_LENGTH];
  SHA1(reinterpret_cast<const unsigned char*>(script.text.data()), script.text.size(), digest);
  for (const unsigned char byte : digest)
    for (const int half : {byte >> 4, byte & 15}) script.sha1 += "0123456789abcdef"[half];
  return script;
}

const LedgerScript& ledger_script() {
  static const LedgerScript script = script_with(store_time);
  return script;
}

std::vector<std::string> ledger_keys(const std::string& fleet) {
  const std::string layout = "{moult:" + fleet + "}:1:";
  return {layout + "ledger", layout + "permits", layout + "members", layout + "heard"};
}

std::string settings_words(const FleetPolicy& policy) {
  const auto ttl = std::chrono::duration_cast<std::chrono::microseconds>(policy.ttl).count();
  return std::to_string(policy.permits) + " " + std::to_string(ttl) + " " + exact_text(policy.tokens_per_hour) + " " +
         text(policy.rate_per) + " " + std::to_string(policy.burst) + " " +
         std::to_string(policy.minimum_healthy_percent);
}

std::vector<std::string> ledger_arguments(const LedgerRequest& request, const FleetSettings& offered) {
  std::vector<std::string> all = words(request);
  all.insert(all.begin() + 1, {offered.of, text(offered.since), settings_words(offered.policy)});
  return all;
}

std::vector<std::string> ledger_call(const std::string& command, const std::string& script, const std::string& fleet,
                                     const LedgerRequest& request, const FleetSettings& offered) {
  const std::vector<std::string> keys = ledger_keys(fleet);
  std::vector<std::string> all{command, script, std::to_string(keys.size())};
  all.insert(all.end(), keys.begin(), keys.end());
  for (std::string& word : ledger_arguments(request, offered)) all.push_back(std::move(word));
  return all;
}
}  // namespace moult
