#include "lease/call_claims.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/budget_timer.h"
namespace moult {
namespace {
// KEYS: 1 the claim ("-": none is meant), 2 the claims in hand. ARGV: verb, then
//   claim    "DUE NAME" token end grace kept due holder        times in microseconds, `end` and `due` since 1970
//   finish   "DUE NAME" token outcome holder
//   look
// Answers {now, 'ours' | 'theirs' | 'too_old' | 'late' | 'finished' | 'looked', then of each claim that has lost its
// holder "DUE NAME", holder}. It reads before it writes. The hash has as many fields as there are calls in hand, and
// those that were lost since somebody last asked.
constexpr std::string_view script = R"lua(
local call, claim, hand, verb = redis.call, KEYS[1], KEYS[2], ARGV[1]
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local function whole(value) return string.format('%.0f', value) end
local held = verb ~= 'look' and call('GET', claim)
local open = call('HGETALL', hand)
local answer = {whole(now), 'looked'}

if verb == 'finish' then
  answer[2] = 'finished'
  if held and string.match(held, '^%S+') == ARGV[3] then
    call('SET', claim, ARGV[3] .. ' ' .. ARGV[4] .. ' ' .. ARGV[5], 'KEEPTTL')
    call('HDEL', hand, ARGV[2])
    for i = 1, #open, 2 do if open[i] == ARGV[2] then open[i] = false end end
  end
elseif verb == 'claim' then
  local lasts, kept, due = tonumber(ARGV[4]), tonumber(ARGV[6]), tonumber(ARGV[7])
  if now > lasts then answer[2] = 'late'
  elseif held then answer[2] = string.match(held, '^%S+') == ARGV[3] and 'ours' or 'theirs'
  elseif now - due > kept then answer[2] = 'too_old'
  else
    answer[2] = 'ours'
    local milliseconds = math.max(1, math.floor((math.max(due, now) + kept - now) / 1000))
    call('SET', claim, ARGV[3] .. ' held ' .. ARGV[8], 'PX', whole(milliseconds))
    call('HSET', hand, ARGV[2], whole(lasts + tonumber(ARGV[5])) .. ' ' .. ARGV[8])
    call('PEXPIRE', hand, 7 * 24 * 3600 * 1000)
  end
end

for i = 1, #open, 2 do
  local lost_at, holder = string.match(open[i + 1], '^(%d+) (.*)$')
  if open[i] and now >= (tonumber(lost_at) or 0) then
    call('HDEL', hand, open[i])
    answer[#answer + 1] = open[i]
    answer[#answer + 1] = holder or ''
  end
end
return answer
)lua";

constexpr std::size_t most_errands = 256;  // more than that is not remembered while the store is away

std::string microseconds(auto time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(time).count());
}

std::string member_of(const CallClaim& claim) { return microseconds(claim.due.time_since_epoch()) + " " + claim.name; }

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (wrong != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<LostCall> lost_call(const RedisReply& member, const RedisReply& holder) {
  const auto *words = member.as<std::string>(), *by = holder.as<std::string>();
  if (!words || !by) return std::nullopt;
  const auto blank = words->find(' ');
  const auto due = whole_number(std::string_view(*words).substr(0, blank));
  constexpr std::int64_t latest = WallTime::max().time_since_epoch().count() / 1000;
  if (blank == std::string::npos || !due || *due < -latest || *due > latest) return std::nullopt;
  return LostCall{words->substr(blank + 1), WallTime(std::chrono::microseconds(*due)), *by};
}

std::string hexadecimal(std::uint64_t number) {
  char digits[17];
  const auto end = std::to_chars(digits, digits + sizeof digits, number, 16).ptr;
  return {digits, end};
}
}  // namespace

struct CallClaims::Errand {
  bool is_outcome;
  std::unique_ptr<RedisCall> call;
};

CallClaims::CallClaims(uv_loop_t* loop, RedisOptions options, std::string fleet, std::string instance,
                       std::function<void(const LostCall&)> lost)
    : loop_(loop),
      fleet_(std::move(fleet)),
      instance_(std::move(instance)),
      token_prefix_(hexadecimal(options.seed)),
      lost_(std::move(lost)),
      connection_(loop, std::move(options)) {}

CallClaims::~CallClaims() = default;

std::string CallClaims::next_token() { return token_prefix_ + "-" + hexadecimal(++tokens_); }

std::string CallClaims::key_of(const CallClaim& claim) const {
  return "{moult:" + fleet_ + "}:1:call:" + claim.name + ":" + microseconds(claim.due.time_since_epoch());
}

// `end`: written in the store's clock, behind the third argument.
CallClaims::Words CallClaims::words(std::string claim_key, RedisWords arguments,
                                    std::optional<MonotonicTime> end) const {
  RedisWords all{"EVAL", std::string(script), "2", std::move(claim_key), "{moult:" + fleet_ + "}:1:calls"};
  const std::size_t at = all.size() + 3;
  std::ranges::move(arguments, std::back_inserter(all));
  return [all = std::move(all), at, end](const StoreClock& clock) {
    RedisWords written = all;
    if (end) written[at] = microseconds(clock.at(*end).time_since_epoch());
    return written;
  };
}

std::unique_ptr<RedisCall> CallClaims::claim(const CallClaim& claim, Duration kept, Budget budget,
                                             std::function<void(Result<ClaimAnswer>)> answered) {
  return connection_.call(words(key_of(claim),
                                {"claim", member_of(claim), claim.token, "", microseconds(claim_grace),
                                 microseconds(kept), microseconds(claim.due.time_since_epoch()), instance_},
                                budget.end),
                          budget, IfLost::ask_again, [this, answered = std::move(answered)](const RedisAnswer& answer) {
                            answered(read(answer));
                          });
}

void CallClaims::finish(const CallClaim& claim, const std::string& outcome) {
  send(words(key_of(claim), {"finish", member_of(claim), claim.token, outcome, instance_}, std::nullopt), true);
}

void CallClaims::look() { send(words("{moult:" + fleet_ + "}:1:call:-", {"look"}, std::nullopt), false); }

void CallClaims::send(Words said, bool is_outcome) {
  if (errands_.size() >= most_errands) return;  // those claims are reported lost
  errands_.push_front({is_outcome, nullptr});
  const auto place = errands_.begin();
  const Budget budget{monotonic_now(loop_) + longest_finishing};
  place->call = connection_.call(std::move(said), budget, IfLost::ask_again,
                                 [this, place](const RedisAnswer& answer) { errand_over(place, answer); });
}

void CallClaims::errand_over(std::list<Errand>::iterator place, const RedisAnswer& answer) {
  const Errand over = std::move(*place);
  errands_.erase(place);
  static_cast<void>(read(answer));  // a failure is the gate's to tell: it has the same store
  if (std::ranges::none_of(errands_, &Errand::is_outcome)) tell_written();
}

Result<ClaimAnswer> CallClaims::read(const RedisAnswer& answer) {
  if (const auto* failure = std::get_if<RedisFailure>(&answer)) return Error{failure->message};
  const RedisReply& reply = std::get<RedisReply>(answer);
  if (const auto* error = reply.as<RedisError>())
    return Error{connection_.describe().store + ": the store refused: " + error->message};
  const Error strange{connection_.describe().store + ": the store's answer is not one of a fleet's calls"};
  const auto* fields = reply.as<RedisReply::Array>();
  if (!fields || fields->size() < 2 || fields->size() % 2 != 0) return strange;
  const auto *time = (*fields)[0].as<std::string>(), *word = (*fields)[1].as<std::string>();
  const auto now = time ? whole_number(*time) : std::nullopt;
  if (!now || !word) return strange;
  connection_.heard_time(StoreClock::Time(std::chrono::microseconds(*now)));
  for (std::size_t i = 2; i + 1 < fields->size(); i += 2)
    if (const auto lost = lost_call((*fields)[i], (*fields)[i + 1])) lost_(*lost);
  if (*word == "late") return Error{connection_.describe().store + ": the store answered too late"};
  if (*word == "ours" || *word == "finished" || *word == "looked") return ClaimAnswer::ours;
  if (*word == "theirs") return ClaimAnswer::theirs;
  return *word == "too_old" ? Result<ClaimAnswer>(ClaimAnswer::too_old) : strange;
}

void CallClaims::when_written(Budget budget, std::function<void()> written) {
  written_ = std::move(written);
  if (std::ranges::none_of(errands_, &Errand::is_outcome)) return tell_written();
  farewell_ = std::make_unique<BudgetTimer>(loop_, [this] { tell_written(); });
  farewell_->at_end_of(budget);
}

void CallClaims::tell_written() {
  if (farewell_) farewell_->stop();
  if (const auto written = std::exchange(written_, nullptr)) written();
}
}  // namespace moult
