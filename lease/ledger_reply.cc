// The reading half of ledger_script.h.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "lease/ledger_script.h"
namespace moult {
namespace {
// What the script counts exactly.
constexpr std::int64_t exact = std::int64_t{1} << 53;

// Takes the fields of one list in turn. After the first that is not what it should be all others read as nothing.
class Fields {
 public:
  Fields(const RedisReply& reply, std::string what) : what_(std::move(what)), fields_(reply.as<RedisReply::Array>()) {
    if (!fields_) refuse("it is no list");
  }
  bool ok() const { return !error_; }
  Error error() const { return {"the store's answer is not one of a fleet's ledger: " + *error_ + " (" + what_ + ")"}; }
  void refuse(const std::string& why) {
    if (!error_) error_ = why;
  }

  std::string text(const char* name) {
    const auto* word = next(name) ? fields_->at(at_ - 1).as<std::string>() : nullptr;
    if (word) return *word;
    refuse(std::string(name) + " is no text");
    return {};
  }
  template <class Number>
  Number number(const char* name, Number least, Number most) {
    const std::string digits = text(name);
    Number value{};
    const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool whole = wrong == std::errc{} && end == digits.data() + digits.size();
    if (whole && value >= least && value <= most) return value;  // never true of a NaN
    refuse(std::string(name) + " is no number that it can be");
    return least;
  }
  StoreTime time(const char* name) {
    return StoreTime(std::chrono::microseconds(number<std::int64_t>(name, -exact, exact)));
  }
  std::chrono::microseconds time_to_live(const char* name) {
    return std::chrono::microseconds(number<std::int64_t>(name, 0, exact));
  }
  unsigned count(const char* name) { return number<unsigned>(name, 0, ~0u); }
  std::uint64_t id(const char* name) { return number<std::uint64_t>(name, 0, ~0ull); }
  FleetPolicy policy(const char* name) {
    const auto read = read_settings_words(text(name));
    if (!read) refuse(read.error().message);
    return read ? *read : FleetPolicy{};
  }
  const RedisReply* list(const char* name) { return next(name) ? &fields_->at(at_ - 1) : nullptr; }
  void end() {
    if (fields_ && at_ != fields_->size()) refuse("it has more than belongs to it");
  }

 private:
  bool next(const char* name) {
    if (!ok()) return false;
    if (at_ >= fields_->size()) {
      refuse(std::string(name) + " is missing");
      return false;
    }
    ++at_;
    return true;
  }
  std::string what_;
  const RedisReply::Array* fields_;
  std::size_t at_ = 0;
  std::optional<std::string> error_;
};

std::optional<Refusal> refusal_called(const std::string& word) {
  for (const Refusal each : {Refusal::lease_held, Refusal::no_tokens, Refusal::below_minimum, Refusal::late})
    if (word == name(each)) return each;
  return std::nullopt;
}

std::optional<RatePer> rate_called(const std::string& word) {
  if (word == "worker") return RatePer::worker;
  if (word == "fleet") return RatePer::fleet;
  if (word == "unlimited") return RatePer::unlimited;
  return std::nullopt;
}

Refused read_refused(Fields& fields) {
  const auto why = refusal_called(fields.text("the reason"));
  if (!why) fields.refuse("an unknown reason");
  const auto most = std::chrono::duration_cast<std::chrono::microseconds>(longest_hint).count();
  const auto wait = fields.number<std::int64_t>("the hint", 0, most);
  return {why.value_or(Refusal::late), std::chrono::microseconds(wait)};
}

Permit read_permit(Fields& fields) {
  Permit permit{};
  permit.token = fields.id("the token");
  permit.operation = AskId{fields.id("the operation")};
  permit.cost = fields.count("the cost");
  permit.granted_at = fields.time("the grant's time");
  permit.expires_at = fields.time("the lease's end");
  permit.holder = fields.text("the holder");
  permit.instance = fields.text("the instance");
  return permit;
}

FleetMember read_member(Fields& fields) {
  FleetMember member{};
  member.name = fields.text("the name");
  member.wanted = fields.count("the wanted workers");
  member.healthy = fields.count("the healthy workers");
  member.heard_at = fields.time("the heartbeat's time");
  member.started = fields.time("the master's start");
  const std::string why = fields.text("the last refusal");
  const StoreTime at = fields.time("the last refusal's time");
  if (const auto refusal = refusal_called(why)) member.last_refusal = {*refusal, at};
  else if (why != "-") fields.refuse("an unknown reason");
  member.last_debit = AskId{fields.id("the last debit")};
  member.policy = fields.policy("the settings");
  return member;
}

// At most `most` of them, each a list of its own.
template <class Each>
std::vector<Each> read_list(Fields& fields, const char* name, std::size_t most, Each (*read)(Fields&)) {
  const RedisReply* list = fields.list(name);
  const auto* entries = list ? list->as<RedisReply::Array>() : nullptr;
  if (!entries) fields.refuse(std::string(name) + " are no list");
  else if (entries->size() > most) fields.refuse(std::string(name) + " are more than a ledger keeps");
  std::vector<Each> all;
  for (std::size_t i = 0; fields.ok() && i < entries->size(); ++i) {
    Fields entry(entries->at(i), std::string(name) + ", entry " + std::to_string(i));
    all.push_back(read(entry));
    entry.end();
    if (!entry.ok()) fields.refuse(entry.error().message);
  }
  return all;
}

FleetView read_view(Fields& fields, StoreTime now, double tokens) {
  FleetView view{};
  view.now = now;
  view.tokens = tokens;
  view.tokens_per_hour = fields.number<double>("the rate", 0, 1e300);
  view.health.wanted = fields.id("the wanted workers");
  view.health.healthy = fields.id("the healthy workers");
  view.ruling.policy = fields.policy("the settings");
  view.ruling.of = fields.text("the settings' instance");
  view.ruling.since = fields.time("the settings' time");
  view.permits = read_list<Permit>(fields, "permits", most_permits + most_instances, read_permit);
  view.members = read_list<FleetMember>(fields, "members", most_instances, read_member);
  std::ranges::sort(view.permits, {}, &Permit::token);
  std::ranges::sort(view.members, {}, &FleetMember::name);
  return view;
}

LedgerAnswer read_answer(Fields& fields, StoreTime now, double tokens) {
  const std::string kind = fields.text("the kind");
  if (kind == "granted") return Granted{fields.id("the token"), true, {}};
  if (kind == "refused") return read_refused(fields);
  if (kind == "view") return read_view(fields, now, tokens);
  if (kind != "done") fields.refuse("an unknown kind of answer");
  return Done{};
}

// Which kinds of answers there are to a question: ledger.h says it in words.
bool fits(const LedgerAnswer& answer, const LedgerRequest& asked) {
  if (std::holds_alternative<Look>(asked)) return std::holds_alternative<FleetView>(answer);
  const bool acquire = std::holds_alternative<Acquire>(asked);
  if (const auto* refused = std::get_if<Refused>(&answer)) {
    if (std::holds_alternative<Release>(asked) || std::holds_alternative<Withdraw>(asked)) return false;
    return acquire || refused->why == Refusal::late;
  }
  return acquire ? std::holds_alternative<Granted>(answer) : std::holds_alternative<Done>(answer);
}
}  // namespace

Result<FleetPolicy> read_settings_words(std::string_view words) {
  RedisReply list{RedisReply::Array{}};
  auto& all = std::get<RedisReply::Array>(list.value);
  for (std::size_t at = 0; at <= words.size() && all.size() <= 6;) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    all.push_back({std::string(words.substr(at, end - at))});
    at = end + 1;
  }
  Fields fields(list, "settings");
  FleetPolicy policy;
  policy.permits = fields.count("the permits");
  policy.ttl = fields.time_to_live("the time to live");
  policy.tokens_per_hour = fields.number<double>("the rate", 0, 1e300);
  const auto per = rate_called(fields.text("what the rate is for"));
  if (!per) fields.refuse("an unknown kind of rate");
  policy.rate_per = per.value_or(RatePer::worker);
  policy.burst = fields.count("the burst");
  policy.minimum_healthy_percent = fields.count("the minimum");
  fields.end();
  if (!fields.ok()) return fields.error();
  return policy;
}

Result<LedgerReply> read_ledger_reply(const RedisReply& reply, const LedgerRequest& asked) {
  if (const auto* said = reply.as<RedisError>()) return Error{"the store refused: " + said->message};
  Fields fields(reply, "answer");
  LedgerReply read{};
  read.now = fields.time("the time");
  read.ttl = fields.time_to_live("the time to live");
  read.tokens = fields.number<double>("the credit", -1e300, 1e300) / credit_per_token;
  read.answer = read_answer(fields, read.now, read.tokens);
  fields.end();
  if (fields.ok() && !fits(read.answer, asked)) fields.refuse("it answers another question");
  if (!fields.ok()) return fields.error();
  return read;
}
}  // namespace moult
