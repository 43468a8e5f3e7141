#pragma once
// What to do about an error that a store answers, by its name. Pure. Used by RedisConnection.
#include <string>

#include "lease/redis_reply.h"
namespace moult {
enum class Recourse {
  callers,    // it is about what was asked (NOSCRIPT, ERR, WRONGTYPE): whoever asked sees it
  ask_again,  // it passes by itself: asked again after a wait, within the budget
  reconnect,  // this server is the wrong one by now; the name may point to another
  final       // nothing will change until a person changes something: answered at once
};
struct RedisRefusal {
  Recourse recourse;
  std::string sentence;  // what it is and what to do about it; empty for callers
};
RedisRefusal refusal_of(const RedisError&);
}  // namespace moult
