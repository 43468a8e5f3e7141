#pragma once
// What goes to and fro between a gate and the ledger in a store: a request as the words of EVALSHA, a reply as an
// answer. Pure. Used by RedisGate and by the tests that hold the script (ledger.lua) equal to the rules (ledger.h).
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lease/ledger.h"
#include "lease/redis_reply.h"
namespace moult {
struct LedgerScript {
  std::string text, sha1;  // sha1: in hexadecimal, as EVALSHA wants it
};
extern const std::string_view ledger_rules;  // ledger.lua; what goes in front of it says what time it is
LedgerScript script_with(std::string_view prelude);
const LedgerScript& ledger_script();  // the one that is used: the clock is the store's

// The fleet's keys, all with one hash tag. Another layout of what is stored gets another number in their names, so that
// versions of moult which do not understand each other have each their own ledger.
std::vector<std::string> ledger_keys(const std::string& fleet);
std::vector<std::string> ledger_arguments(const LedgerRequest&, const FleetSettings& offered);
// `command`: EVALSHA with the script's sha1, or EVAL with its text.
std::vector<std::string> ledger_call(const std::string& command, const std::string& script, const std::string& fleet,
                                     const LedgerRequest&, const FleetSettings& offered);

struct LedgerReply {
  StoreTime now;  // the store's clock, when it answered
  Duration ttl;   // of leases, by the settings that rule
  double tokens;  // what is in the bucket after this; below zero: debt
  LedgerAnswer answer;
};
// An error is one sentence that says where the reply is not what this question's answer looks like, or what the store
// said instead. Numbers out of all bounds, and more members than a ledger keeps, are such errors.
Result<LedgerReply> read_ledger_reply(const RedisReply&, const LedgerRequest& asked);

std::string settings_words(const FleetPolicy&);  // "1 120000000 1 worker 2 50"
Result<FleetPolicy> read_settings_words(std::string_view);
}  // namespace moult
