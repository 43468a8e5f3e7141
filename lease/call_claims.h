#pragma once
// Scheduled calls that one of a fleet makes: each due time is claimed in the store first, by one instance, at most
// once. Made by Instance where some entry has `scope: fleet`, used by Caller. On the loop's thread, over a connection
// of its own, which is opened with the first question.
//
// In the store, all keys with the fleet's hash tag:
//   {moult:FLEET}:1:call:NAME:DUE   "TOKEN held HOLDER", and at the end "TOKEN OUTCOME HOLDER"; DUE in microseconds
//   since
//                                   1970. Kept for as long as an instance that stood still may ask for it.
//   {moult:FLEET}:1:calls           hash of the claims in hand: "DUE NAME" -> "LOST_AT HOLDER"
// A claim that is not finished by LOST_AT, the end of its budget and claim_grace, has lost its holder: whoever asks
// next takes it out of the hash and is told of it, once in the whole fleet. Nobody makes the call again.
//
// Whoever has no answer by the budget's end does not call. Then the claim may have been taken all the same: it is
// reported lost like others. The store's clock is the only clock.
#include <uv.h>

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "lease/redis_connection.h"
namespace moult {
class BudgetTimer;

// How long a holder that is well may need to write the outcome, over and above its budget. A choice.
inline constexpr Duration claim_grace = std::chrono::seconds(10);
inline constexpr Duration longest_finishing = std::chrono::seconds(30);  // an outcome is given up after this

struct CallClaim {
  std::string name;  // without blanks
  WallTime due;
  std::string token = {};  // unlike every other claim's; made by next_token(). A claim asked twice is one
};
enum class ClaimAnswer {
  ours,
  theirs,
  too_old,  // so old that its claim, if there was one, is forgotten
};
struct LostCall {
  std::string name;
  WallTime due;
  std::string holder;
};

class CallClaims {
 public:
  // `instance`: unlike every other instance's of the fleet. `lost` is told of each claim whose holder is gone, from
  // inside no call.
  CallClaims(uv_loop_t*, RedisOptions, std::string fleet, std::string instance,
             std::function<void(const LostCall&)> lost);
  ~CallClaims();
  CallClaims(const CallClaims&) = delete;
  CallClaims& operator=(const CallClaims&) = delete;

  std::string next_token();
  // `answered` is called once, by the budget's end, never from inside; destroying the handle cancels. `kept`: for how
  // long after its due time the claim is remembered.
  [[nodiscard]] std::unique_ptr<RedisCall> claim(const CallClaim&, Duration kept, Budget,
                                                 std::function<void(Result<ClaimAnswer>)> answered);
  // The call of a claim that is ours is over. `outcome`: one word. Written when the store takes it.
  void finish(const CallClaim&, const std::string& outcome);
  // Asks for claims that have lost their holders, without claiming one.
  void look();
  // `written` is called once all outcomes are, or at the budget's end; later, or from inside when there are none.
  void when_written(Budget, std::function<void()> written);

 private:
  struct Errand;  // of ours alone: a finish or a look
  using Words = std::function<RedisWords(const StoreClock&)>;
  std::string key_of(const CallClaim&) const;
  Words words(std::string claim_key, RedisWords arguments, std::optional<MonotonicTime> end) const;
  void send(Words, bool is_outcome);
  void errand_over(std::list<Errand>::iterator, const RedisAnswer&);
  Result<ClaimAnswer> read(const RedisAnswer&);
  void tell_written();

  uv_loop_t* loop_;
  const std::string fleet_, instance_;
  std::string token_prefix_;
  std::uint64_t tokens_ = 0;
  std::function<void(const LostCall&)> lost_;
  std::function<void()> written_;
  RedisConnection connection_;
  std::list<Errand> errands_;
  std::unique_ptr<BudgetTimer> farewell_;
};
}  // namespace moult
