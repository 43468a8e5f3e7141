#pragma once
// What a new connection says first, in one go: AUTH, SELECT, CLIENT SETNAME, TIME. And what is made of the answers.
// Pure. Used by RedisConnection.
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "lease/redis_refusal.h"
#include "lease/redis_reply.h"
#include "lease/redis_url.h"
#include "lease/store_clock.h"
namespace moult {
enum class Greeting { login, database, name, time };
struct GreetingStep {
  Greeting what;
  std::vector<std::string> words;
};
std::vector<GreetingStep> greeting(const RedisAddress&, const std::string& client_name);

// Why it cannot go on; nothing: it can. Never repeats what the store says about a login: it may quote the password.
std::optional<RedisRefusal> refusal_of(Greeting, const RedisReply&);

// What TIME answers: seconds and microseconds, as texts.
Result<StoreClock::Time> read_time(const RedisReply&);
}  // namespace moult
